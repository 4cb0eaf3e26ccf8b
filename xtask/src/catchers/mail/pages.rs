//! The pages of the catcher. Everything in a message is shown as text; its HTML is in a frame that runs and loads nothing.

use std::fmt::Write;
use std::sync::Arc;

use super::message::Email;
use crate::catchers::page::{LIVE, escaped, page};

pub(super) fn list(emails: &[(u64, Arc<Email>)]) -> String {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_message_says_is_text() {
        let message = "Subject: <script>alert(1)</script>\r\n\r\n\"><script>alert(2)</script>";
        let caught = Arc::new(Email::of("<script>@b", message));
        let shown = email(&caught) + &list(&[(1, caught)]);
        assert!(!shown.contains("<script"), "{shown}");
        assert!(shown.contains("sandbox=\"\""));
    }
}
