//! Takes every e-mail by SMTP, and shows it on a page: its HTML in a frame that runs and loads nothing, everything else as text.

pub mod smtp;

use std::fmt::Write;
use std::sync::{Arc, Mutex, PoisonError};

use axum::Router;
use axum::extract::{Path, State};
use axum::response::Html;
use axum::routing::get;
use mail_parser::MessageParser;

use crate::newest::Newest;
use crate::page::{LIVE, escaped, of_pages, or_missing, page};

#[derive(Clone, Default)]
pub struct Mailbox(Arc<Mutex<Newest<Email>>>);

impl Mailbox {
    fn with<R>(&self, work: impl FnOnce(&mut Newest<Email>) -> R) -> R {
        work(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// An e-mail as people read it.
#[derive(Default)]
struct Email {
    to: String,
    from: String,
    subject: String,
    date: String,
    text: String,
    html: String,
}

impl Email {
    fn of(to: &str, message: &[u8]) -> Self {
        let Some(message) = MessageParser::default().parse(message) else {
            return Self::default();
        };
        let sender = message.from().and_then(|from| from.first());
        let name = sender.and_then(|sender| sender.name()).unwrap_or_default();
        let address = sender.and_then(|sender| sender.address()).unwrap_or_default();
        Self {
            to: to.to_owned(),
            from: format!("{name} <{address}>"),
            subject: message.subject().unwrap_or_default().to_owned(),
            date: message.date().map(ToString::to_string).unwrap_or_default(),
            text: message.body_text(0).unwrap_or_default().into_owned(),
            html: message.body_html(0).unwrap_or_default().into_owned(),
        }
    }

    /// Addresses in the text, each once.
    fn links(&self) -> Vec<&str> {
        let words = self.text.split_whitespace();
        let mut links: Vec<&str> = words.filter(|word| word.starts_with("http")).collect();
        links.dedup();
        links
    }
}

pub fn router(mailbox: Mailbox) -> Router {
    let list = async |State(mailbox): State<Mailbox>| Html(list(&mailbox.with(|newest| newest.all())));
    let one = async |State(mailbox): State<Mailbox>, Path(number): Path<u64>| {
        or_missing(
            mailbox
                .with(|newest| newest.find(number))
                .map(|email| one(&email)),
        )
    };
    let router = Router::new()
        .route("/", get(list))
        .route("/emails/{number}", get(one));
    of_pages(router.with_state(mailbox))
}

fn list(emails: &[(u64, Arc<Email>)]) -> String {
    let mut rows = String::new();
    for (number, email) in emails {
        // Writing to a string cannot fail.
        let _ = write!(
            rows,
            "<tr><td>{}</td><td><a href=\"/emails/{number}\">{}</a></td><td>{}</td></tr>",
            escaped(&email.to),
            escaped(&email.subject),
            escaped(&email.date)
        );
    }
    if rows.is_empty() {
        rows.push_str("<tr><td colspan=\"3\">None yet.</td></tr>");
    }
    page(
        "E-mails",
        LIVE,
        &format!("<table><tr><th>To</th><th>Subject</th><th>Date</th></tr>{rows}</table>"),
    )
}

fn one(email: &Email) -> String {
    let mut links = String::new();
    for link in email.links() {
        let link = escaped(link);
        let _ = write!(links, "<li><a href=\"{link}\">{link}</a></li>");
    }
    page(
        &email.subject,
        "",
        &format!(
            "<p><a href=\"/\">All e-mails</a></p><p>From {} to {}, {}</p><h2>Links</h2><ul>{links}</ul><h2>HTML</h2>\
             <iframe title=\"HTML\" sandbox=\"\" srcdoc=\"{}\"></iframe><h2>Text</h2><pre>{}</pre>",
            escaped(&email.from),
            escaped(&email.to),
            escaped(&email.date),
            escaped(&email.html),
            escaped(&email.text)
        ),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    const MESSAGE: &[u8] = b"From: Acme <mail@acme.example>\r\nSubject: You are invited\r\n =?utf-8?b?R3LDtsOfZQ==?=\r\n\
        Date: Thu, 26 Nov 2026 09:00:00 +0000\r\n\
        Content-Type: multipart/alternative;\r\n boundary=\"x\"\r\n\r\n--x\r\nContent-Type: text/plain; charset=utf-8\r\n\
        Content-Transfer-Encoding: quoted-printable\r\n\r\nGr=C3=B6=C3=9Fe\r\nhttps://acme.example/invitation#to=\r\nken\r\n--x\r\n\
        Content-Type: text/html; charset=utf-8\r\nContent-Transfer-Encoding: base64\r\n\r\nPHA+R3LDtsOfZTwvcD4=\r\n--x--\r\n";

    #[test]
    fn a_message_is_shown_as_text_and_as_html() {
        let email = Email::of("ada@letters.example", MESSAGE);
        assert_eq!(email.from, "Acme <mail@acme.example>");
        assert_eq!(email.subject, "You are invited Größe");
        assert_eq!(email.links(), ["https://acme.example/invitation#token"]);
        let shown = one(&email).replace('\r', "");
        assert!(
            shown.contains("to ada@letters.example, 2026-11-26T09:00:00Z"),
            "{shown}"
        );
        assert!(shown.contains("srcdoc=\"&lt;p&gt;Größe&lt;/p&gt;\""), "{shown}");
        assert!(
            shown.contains("<pre>Größe\nhttps://acme.example/invitation#token"),
            "{shown}"
        );
    }

    #[test]
    fn what_a_message_says_is_text() {
        let message = b"Subject: <script>alert(1)</script>\r\n\r\n\"><script>alert(2)</script>";
        let email = Arc::new(Email::of("<script>@b", message));
        let shown = one(&email) + &list(&[(1, email)]);
        assert!(!shown.contains("<script"), "{shown}");
        assert!(shown.contains("sandbox=\"\""));
    }
}
