//! The pages of the catcher. Everything in a message is shown as text; its HTML is in a frame that runs and loads nothing.

use std::collections::VecDeque;
use std::fmt::Write;

use super::message::Email;

const STYLE: &str = "body{margin:2rem auto;max-width:60rem;padding:0 1rem;font:15px/1.5 system-ui,sans-serif;color:#17211d;background:#f6f7f5}\
    table{border-collapse:collapse;width:100%;background:#fff}td,th{padding:.5rem;border:1px solid #e2e6e0;text-align:left}\
    a{color:#0f6259}pre{white-space:pre-wrap;overflow-wrap:anywhere;padding:1rem;background:#fff;border:1px solid #e2e6e0}\
    iframe{width:100%;height:36rem;border:1px solid #e2e6e0;background:#fff}";

pub(super) fn list(emails: &VecDeque<(u64, Email)>) -> String {
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
        "<meta http-equiv=\"refresh\" content=\"3\">",
        &format!("<table><tr><th>To</th><th>Subject</th><th>Date</th></tr>{rows}</table>"),
    )
}

pub(super) fn email(email: &Email) -> String {
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

pub(super) fn nothing() -> String {
    page(
        "There is no such e-mail",
        "",
        "<p><a href=\"/\">All e-mails</a></p>",
    )
}

fn page(title: &str, head: &str, body: &str) -> String {
    let title = escaped(title);
    format!(
        "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\"><title>{title}</title>{head}<style>{STYLE}</style></head>\
         <body><h1>{title}</h1>{body}</body></html>"
    )
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_message_says_is_text() {
        let message = "Subject: <script>alert(1)</script>\r\n\r\n\"><script>alert(2)</script>";
        let caught = Email::of("<script>@b", message);
        let shown = email(&caught) + &list(&VecDeque::from([(1, caught)]));
        assert!(!shown.contains("<script"), "{shown}");
        assert!(shown.contains("sandbox=\"\""));
    }
}
