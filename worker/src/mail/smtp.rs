//! One attempt to send an e-mail to the mail server, and the consequence of the server's answer.
//!
//! The client runs the steps of a session one by one, because the same answer has a different meaning in each
//! step. A refused recipient blocks the address; a refused password or sender is a mistake in the settings.

mod message;
mod server;

use std::path::PathBuf;
use std::time::Duration;

use chrono::{DateTime, Utc};
use domain::people::account::EmailAddress;
use lettre::address::Address;
use lettre::message::Mailbox;
use lettre::transport::smtp::authentication::DEFAULT_MECHANISMS;
use lettre::transport::smtp::client::AsyncSmtpConnection;
use lettre::transport::smtp::commands::{Data, Mail, Rcpt};
use lettre::transport::smtp::extension::{Extension, MailBodyParameter, MailParameter};
use tokio::time::timeout;
use uuid::Uuid;

use self::server::Server;
use crate::mail::templates::Wording;

pub use self::server::SettingsError;

/// The limit for the whole attempt.
pub const ATTEMPT_TAKES_AT_MOST: Duration = Duration::from_mins(1);

#[derive(Debug)]
pub struct SmtpSettings<'a> {
    /// `smtp:` or `smtps:`, with user and password if the server requires them.
    pub url: &'a str,
    /// CA certificates (PEM) that verify the server, instead of the system's.
    pub ca_file: Option<PathBuf>,
    /// `address` or `Name <address>`.
    pub from: &'a str,
    pub reply_to: Option<&'a str>,
}

#[derive(Debug)]
pub struct SmtpSender {
    server: Server,
    from: Mailbox,
    reply_to: Option<Mailbox>,
}

#[derive(Debug)]
pub struct OutgoingEmail<'a> {
    /// The same in every attempt.
    pub message_id: Uuid,
    pub recipient: &'a EmailAddress,
    pub wording: Wording,
    /// The same in every attempt.
    pub written_at: DateTime<Utc>,
}

/// Why an attempt failed, and whether to retry. `reply_code` is the mail server's, if it answered. The text
/// of the answer is omitted, because servers quote addresses in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SendError {
    /// A later attempt may succeed.
    #[error("the mail server did not take it for now ({step}, reply code {})", Shown(*reply_code))]
    Later {
        step: &'static str,
        reply_code: Option<u16>,
    },
    /// The server will never accept this e-mail.
    #[error("the mail server refused it ({step}, reply code {})", Shown(*reply_code))]
    Refused {
        step: &'static str,
        reply_code: Option<u16>,
    },
    /// The server will never accept an e-mail to this address.
    #[error("the mail server refused its address (reply code {reply_code})")]
    AddressRefused { reply_code: u16 },
}

struct Shown(Option<u16>);

impl std::fmt::Display for Shown {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.0 {
            Some(code) => write!(f, "{code}"),
            None => f.write_str("none"),
        }
    }
}

impl SmtpSender {
    pub fn new(settings: &SmtpSettings<'_>) -> Result<Self, SettingsError> {
        let from: Mailbox = settings.from.parse().map_err(|_| SettingsError::Sender)?;
        let reply_to = settings.reply_to.map(str::parse).transpose();
        Ok(Self {
            server: Server::new(settings.url, settings.ca_file.as_deref(), from.email.domain())?,
            from,
            reply_to: reply_to.map_err(|_| SettingsError::ReplyTo)?,
        })
    }

    /// Makes one attempt in a session of its own.
    pub async fn send(&self, email: &OutgoingEmail<'_>) -> Result<(), SendError> {
        let attempt = async {
            let recipient: Address = email.recipient.as_str().parse().map_err(|_| UNSENDABLE)?;
            let message = message::of(self, email, recipient.clone()).map_err(|_| UNSENDABLE)?;
            let mut connection = self.server.connect().await?;
            let sent = self.hand_over(&mut connection, recipient, &message).await;
            // The e-mail is sent, or the next attempt opens a new session: closing may fail.
            let _ = timeout(Duration::from_secs(2), connection.abort()).await;
            sent
        };
        timeout(ATTEMPT_TAKES_AT_MOST, attempt)
            .await
            .unwrap_or(Err(TOO_LATE))
    }

    async fn hand_over(
        &self,
        connection: &mut AsyncSmtpConnection,
        recipient: Address,
        message: &[u8],
    ) -> Result<(), SendError> {
        if let Some(credentials) = &self.server.credentials {
            connection
                .auth(DEFAULT_MECHANISMS, credentials)
                .await
                .map_err(|error| later("authentication", &error))?;
        }
        let sender = Mail::new(
            Some(self.from.email.clone()),
            parameters(connection, &recipient, message)?,
        );
        connection
            .command(sender)
            .await
            .map_err(|error| later("sender", &error))?;
        connection
            .command(Rcpt::new(recipient, Vec::new()))
            .await
            .map_err(|error| of_recipient(&error))?;
        let step = "message";
        connection
            .command(Data)
            .await
            .map_err(|error| later(step, &error))?;
        match connection.message(message).await {
            Ok(_) => Ok(()),
            Err(error) if error.is_permanent() => Err(SendError::Refused {
                step,
                reply_code: reply_code(&error),
            }),
            Err(error) => Err(later(step, &error)),
        }
    }
}

const UNSENDABLE: SendError = SendError::Refused {
    step: "address",
    reply_code: None,
};
const TOO_LATE: SendError = SendError::Later {
    step: "time",
    reply_code: None,
};

fn parameters(
    connection: &AsyncSmtpConnection,
    recipient: &Address,
    message: &[u8],
) -> Result<Vec<MailParameter>, SendError> {
    let mut parameters = Vec::new();
    let server = connection.server_info();
    if !recipient.to_string().is_ascii() {
        if !server.supports_feature(Extension::SmtpUtfEight) {
            return Err(UNSENDABLE);
        }
        parameters.push(MailParameter::SmtpUtfEight);
    }
    if !message.is_ascii() {
        parameters.push(MailParameter::Body(MailBodyParameter::EightBitMime));
    }
    Ok(parameters)
}

fn later(step: &'static str, error: &lettre::transport::smtp::Error) -> SendError {
    SendError::Later {
        step,
        reply_code: reply_code(error),
    }
}

/// A permanent refusal of a recipient blocks the address. The exception is `5.7.x`: there the server objects
/// to the sender (RFC 3463).
fn of_recipient(error: &lettre::transport::smtp::Error) -> SendError {
    match reply_code(error) {
        Some(reply_code) if error.is_permanent() && !is_policy(error) => {
            SendError::AddressRefused { reply_code }
        }
        _ => later("recipient", error),
    }
}

fn is_policy(error: &lettre::transport::smtp::Error) -> bool {
    std::error::Error::source(error).is_some_and(|text| text.to_string().trim_start().starts_with("5.7."))
}

fn reply_code(error: &lettre::transport::smtp::Error) -> Option<u16> {
    error.status().map(u16::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(url: &str) -> Result<SmtpSender, SettingsError> {
        SmtpSender::new(&SmtpSettings {
            url,
            ca_file: None,
            from: "Acme <mail@referrals.example>",
            reply_to: None,
        })
    }

    #[test]
    fn what_is_set_is_understood_or_refused() {
        assert!(settings("smtps://user:p%40ss@mail.example").is_ok());
        for bad in ["http://mail.example", "smtp:", "mail.example:25"] {
            assert_eq!(settings(bad).err(), Some(SettingsError::Url), "{bad}");
        }
        let sender = SmtpSender::new(&SmtpSettings {
            url: "smtp://127.0.0.1:25",
            ca_file: None,
            from: "nobody",
            reply_to: None,
        });
        assert_eq!(sender.err(), Some(SettingsError::Sender));
    }

    #[test]
    fn no_password_is_shown() {
        let sender = settings("smtps://user:hunter2@mail.example").unwrap();
        assert!(!format!("{sender:?}").contains("hunter2"));
    }

    #[test]
    fn a_message_is_the_same_in_every_attempt() {
        let sender = settings("smtps://mail.example").unwrap();
        let recipient = EmailAddress::parse("ada@letters.example").unwrap();
        let email = || OutgoingEmail {
            message_id: Uuid::from_u128(7),
            recipient: &recipient,
            wording: Wording {
                subject: "Größe".to_owned(),
                text: "text".to_owned(),
                html: "<p>html</p>".to_owned(),
                reply_to: Some("partners@shop.example".to_owned()),
                unsubscribe: Some(format!(
                    "https://referrals.example/unsubscribe/{}",
                    "A".repeat(90)
                )),
            },
            written_at: DateTime::UNIX_EPOCH,
        };
        let made = || {
            let message = message::of(&sender, &email(), "ada@letters.example".parse().unwrap()).unwrap();
            String::from_utf8(message).unwrap()
        };
        let message = made();
        assert_eq!(message, made());
        for line in [
            "From: Acme <mail@referrals.example>",
            "To: ada@letters.example",
            "Message-ID: <00000000-0000-0000-0000-000000000007@referrals.example>",
            "Auto-Submitted: auto-generated",
            &format!(
                "List-Unsubscribe: <https://referrals.example/unsubscribe/{}>",
                "A".repeat(90)
            ),
            "Reply-To: partners@shop.example",
            "List-Unsubscribe-Post: List-Unsubscribe=One-Click",
            "Date: Thu, 01 Jan 1970 00:00:00 +0000",
        ] {
            assert!(message.lines().any(|it| it == line), "{line} in {message}");
        }
        assert!(message.is_ascii(), "{message}");
    }
}
