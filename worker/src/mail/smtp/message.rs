//! The message in its final form: headers, text and HTML.

use std::time::SystemTime;

use lettre::address::Address;
use lettre::error::Error;
use lettre::message::header::{HeaderName, HeaderValue};
use lettre::message::{Mailbox, Message, MultiPart, SinglePart};

use super::{OutgoingEmail, SmtpSender};

pub fn of(sender: &SmtpSender, email: &OutgoingEmail<'_>, recipient: Address) -> Result<Vec<u8>, Error> {
    let parts = MultiPart::alternative()
        .boundary(email.message_id.simple().to_string())
        .singlepart(SinglePart::plain(email.wording.text.clone()))
        .singlepart(SinglePart::html(email.wording.html.clone()));
    let mut message = Message::builder()
        .from(sender.from.clone())
        .to(Mailbox::new(None, recipient))
        .subject(email.wording.subject.clone())
        .date(SystemTime::from(email.written_at))
        .message_id(Some(format!(
            "<{}@{}>",
            email.message_id,
            sender.from.email.domain()
        )))
        // Prevents automatic replies such as holiday notices (RFC 3834).
        .raw_header(header("Auto-Submitted", "auto-generated"));
    let of_program = email.wording.reply_to.as_ref().and_then(|address| {
        // A program's address that the mail client cannot parse is omitted.
        Some(Mailbox::new(None, address.parse::<Address>().ok()?))
    });
    if let Some(reply_to) = of_program.or_else(|| sender.reply_to.clone()) {
        message = message.reply_to(reply_to);
    }
    // A link that could start another header is omitted. Our own links never contain such characters.
    if let Some(link) = email.wording.unsubscribe.as_deref().filter(|link| is_plain(link)) {
        // One click on the link (RFC 2369), or a `POST` to it (RFC 8058), ends e-mails of this kind.
        message = message
            .raw_header(header("List-Unsubscribe", &format!("<{link}>")))
            .raw_header(header("List-Unsubscribe-Post", "List-Unsubscribe=One-Click"));
    }
    Ok(message.multipart(parts)?.formatted())
}

/// Written as it is: folding or encoding would change a link.
fn header(name: &'static str, value: &str) -> HeaderValue {
    let name = HeaderName::new_from_ascii_str(name);
    HeaderValue::dangerous_new_pre_encoded(name, value.to_owned(), value.to_owned())
}

fn is_plain(link: &str) -> bool {
    link.bytes()
        .all(|byte| byte.is_ascii_graphic() && !b"<>".contains(&byte))
}
