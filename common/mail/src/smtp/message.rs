//! The message as it is sent: headers, text and HTML.

use std::time::SystemTime;

use lettre::address::Address;
use lettre::error::Error;
use lettre::message::header::{Header, HeaderName, HeaderValue};
use lettre::message::{Mailbox, Message, MultiPart, SinglePart};

use super::{OutgoingEmail, SmtpSender};

/// Nobody's holiday notice answers it (RFC 3834).
#[derive(Debug, Clone, Copy)]
struct AutoSubmitted;

impl Header for AutoSubmitted {
    fn name() -> HeaderName {
        HeaderName::new_from_ascii_str("Auto-Submitted")
    }

    fn parse(_: &str) -> Result<Self, Box<dyn std::error::Error + Send + Sync>> {
        Ok(Self)
    }

    fn display(&self) -> HeaderValue {
        HeaderValue::new(Self::name(), "auto-generated".to_owned())
    }
}

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
        .header(AutoSubmitted);
    if let Some(reply_to) = &sender.reply_to {
        message = message.reply_to(reply_to.clone());
    }
    Ok(message.multipart(parts)?.formatted())
}
