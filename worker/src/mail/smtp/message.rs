//! The message in its final form: headers, text and HTML.

use std::time::SystemTime;

use lettre::address::Address;
use lettre::error::Error;
use lettre::message::header::{Header, HeaderName, HeaderValue};
use lettre::message::{Mailbox, Message, MultiPart, SinglePart};

use super::{OutgoingEmail, SmtpSender};

/// The link that ends e-mails of this kind with one click, in angle brackets (RFC 2369).
#[derive(Debug, Clone)]
struct ListUnsubscribe(String);

impl Header for ListUnsubscribe {
    fn name() -> HeaderName {
        HeaderName::new_from_ascii_str("List-Unsubscribe")
    }

    fn parse(text: &str) -> Result<Self, Box<dyn std::error::Error + Send + Sync>> {
        Ok(Self(text.to_owned()))
    }

    fn display(&self) -> HeaderValue {
        // Written as it is: folding or encoding would change the address.
        let Self(link) = self;
        HeaderValue::dangerous_new_pre_encoded(Self::name(), link.clone(), link.clone())
    }
}

/// Lets a mail program unsubscribe its user by a `POST` to the link, without a further question (RFC 8058).
#[derive(Debug, Clone, Copy)]
struct OneClick;

impl Header for OneClick {
    fn name() -> HeaderName {
        HeaderName::new_from_ascii_str("List-Unsubscribe-Post")
    }

    fn parse(_: &str) -> Result<Self, Box<dyn std::error::Error + Send + Sync>> {
        Ok(Self)
    }

    fn display(&self) -> HeaderValue {
        HeaderValue::new(Self::name(), "List-Unsubscribe=One-Click".to_owned())
    }
}

/// Prevents automatic replies such as holiday notices (RFC 3834).
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
    let of_program = email.wording.reply_to.as_ref().and_then(|address| {
        // A program's address that the mail client cannot parse is omitted.
        Some(Mailbox::new(None, address.parse::<Address>().ok()?))
    });
    if let Some(reply_to) = of_program.or_else(|| sender.reply_to.clone()) {
        message = message.reply_to(reply_to);
    }
    // A link that could start another header is omitted. Our own links never contain such characters.
    if let Some(link) = email.wording.unsubscribe.as_deref().filter(|link| is_plain(link)) {
        message = message
            .header(ListUnsubscribe(format!("<{link}>")))
            .header(OneClick);
    }
    Ok(message.multipart(parts)?.formatted())
}

fn is_plain(link: &str) -> bool {
    link.bytes()
        .all(|byte| byte.is_ascii_graphic() && !b"<>".contains(&byte))
}
