//! Sessions with a mail server that speaks TLS (aiosmtpd, which shares no code with our client).

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use chrono::DateTime;
use chrono::Utc;
use domain::people::account::EmailAddress;
use testing::{Authority, from_environment};
use uuid::Uuid;

use super::{Encryption, Server, tls};
use crate::mail::smtp::{OutgoingEmail, SendError, SmtpSender};
use crate::mail::templates::Wording;

const PATIENCE: Duration = Duration::from_secs(30);
const PASSWORD: &str = "of the mail server";
const TAKEN: &str =
    r#"{"from": "mail@acme.example", "to": ["ada@letters.example"], "encrypted": true, "user": "acme"}"#;

/// Killed when dropped.
struct MailServer {
    process: Child,
    port: u16,
    lines: Receiver<String>,
}

impl MailServer {
    /// `mode` is `tls`, `starttls` or `plain`.
    fn start(mode: &str, authority: &Authority) -> Self {
        let files = authority.certificate();
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../ingest/tests/oracles/smtp_server.py");
        let mut process = Command::new(from_environment("RT_STRIPE_PYTHON"))
            .args([script.as_os_str(), mode.as_ref()])
            .args([files.certificate, files.key])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let output = process.stdout.take().unwrap();
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            for line in std::io::BufRead::lines(std::io::BufReader::new(output)) {
                let _ = sender.send(line.unwrap());
            }
        });
        let port = lines.recv_timeout(PATIENCE).unwrap().parse().unwrap();
        Self { process, port, lines }
    }

    fn url(&self, password: &str) -> String {
        let password = password.replace(' ', "%20");
        format!("smtps://acme:{password}@127.0.0.1:{}", self.port)
    }

    /// Requires `STARTTLS`, as for a remote server: `smtp:` to loopback is not encrypted.
    fn upgraded(&self, authority: &Authority) -> Server {
        let mut server = of_url(&self.url(PASSWORD), authority);
        let tls = tls("127.0.0.1", Some(Path::new(&authority.file())));
        server.encryption = Encryption::Upgraded(tls.unwrap());
        server
    }

    /// The e-mail that the server received, once a session has ended.
    fn taken(&self) -> String {
        self.lines.recv_timeout(PATIENCE).unwrap()
    }

    fn took_nothing(mut self) {
        self.process.kill().unwrap();
        assert_eq!(self.lines.recv_timeout(PATIENCE).ok(), None);
    }
}

impl Drop for MailServer {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

async fn send(server: Server) -> Result<(), SendError> {
    let sender = SmtpSender {
        server,
        from: "Acme <mail@acme.example>".parse().unwrap(),
        reply_to: None,
    };
    let recipient = EmailAddress::parse("ada@letters.example").unwrap();
    let wording = Wording {
        subject: "Größe".to_owned(),
        text: "text".to_owned(),
        html: "<p>html</p>".to_owned(),
        reply_to: None,
        unsubscribe: None,
    };
    sender
        .send(&OutgoingEmail {
            message_id: Uuid::from_u128(7),
            recipient: &recipient,
            wording,
            written_at: DateTime::<Utc>::UNIX_EPOCH,
        })
        .await
}

fn of_url(url: &str, authority: &Authority) -> Server {
    Server::new(url, Some(Path::new(&authority.file())), "acme.example").unwrap()
}

fn failed_at(step: &'static str, reply_code: Option<u16>) -> Result<(), SendError> {
    Err(SendError::Later { step, reply_code })
}

#[tokio::test]
async fn an_email_goes_over_tls_from_the_first_byte() {
    let authority = Authority::new();
    let mail_server = MailServer::start("tls", &authority);
    assert_eq!(send(of_url(&mail_server.url(PASSWORD), &authority)).await, Ok(()));
    assert_eq!(mail_server.taken(), TAKEN);
}

#[tokio::test]
async fn an_email_goes_over_tls_after_starttls() {
    let authority = Authority::new();
    let mail_server = MailServer::start("starttls", &authority);
    assert_eq!(send(mail_server.upgraded(&authority)).await, Ok(()));
    assert_eq!(mail_server.taken(), TAKEN);
}

#[tokio::test]
async fn nothing_goes_to_a_server_that_another_authority_vouches_for() {
    let (authority, other) = (Authority::new(), Authority::new());
    let over_tls = MailServer::start("tls", &authority);
    assert_eq!(
        send(of_url(&over_tls.url(PASSWORD), &other)).await,
        failed_at("connection", None)
    );
    over_tls.took_nothing();
    let upgraded = MailServer::start("starttls", &authority);
    assert_eq!(
        send(upgraded.upgraded(&other)).await,
        failed_at("encryption", None)
    );
    upgraded.took_nothing();
}

#[tokio::test]
async fn neither_password_nor_email_goes_to_a_server_without_starttls() {
    let authority = Authority::new();
    let mail_server = MailServer::start("plain", &authority);
    assert_eq!(
        send(mail_server.upgraded(&authority)).await,
        failed_at("encryption", None)
    );
    mail_server.took_nothing();
}

#[tokio::test]
async fn a_wrong_password_is_tried_again_later() {
    let authority = Authority::new();
    let mail_server = MailServer::start("tls", &authority);
    let server = of_url(&mail_server.url("another"), &authority);
    assert_eq!(send(server).await, failed_at("authentication", Some(535)));
    mail_server.took_nothing();
}
