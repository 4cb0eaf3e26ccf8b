//! A mail server on loopback for one test. It keeps the e-mails it accepts, and can be set to refuse, hang or
//! close.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use runtime::clock::Clock;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};

use crate::stack::Stack;

/// The password in [`MailServer::url`].
pub const MAIL_PASSWORD: &str = "of the mail server 4711";

/// The server's behaviour in a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Manner {
    Takes,
    /// Gives this answer (second) to this command (first): `AUTH`, `MAIL`, `RCPT`, `DATA`, or `.` for the end
    /// of a message.
    Answers(&'static str, &'static str),
    /// Never answers this command.
    Hangs(&'static str),
    /// Closes the connection at this command.
    Closes(&'static str),
}

#[derive(Debug, Clone)]
pub struct MailServer {
    pub address: SocketAddr,
    state: Arc<Mutex<State>>,
}

#[derive(Debug)]
struct State {
    manner: Manner,
    taken: Vec<ReceivedEmail>,
    sessions: usize,
}

/// An e-mail as the server received it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReceivedEmail {
    pub to: String,
    pub message: String,
}

impl Stack {
    /// A running stack that sends e-mails, and the mail server that receives them.
    pub async fn with_mail(clock: Clock) -> (Self, MailServer) {
        Self::with_mail_set(clock, &[]).await
    }

    /// A stack without services that sends e-mails, and the mail server that receives them.
    pub async fn with_mail_only(clock: Clock) -> (Self, MailServer) {
        let mail = MailServer::start().await;
        let mut stack = Self::without_services(clock).await;
        mail.set_in(&mut stack);
        (stack, mail)
    }

    /// As [`Self::with_mail`], with these settings instead of the usual ones.
    pub async fn with_mail_set(clock: Clock, settings: &[(&'static str, &str)]) -> (Self, MailServer) {
        let (mut stack, mail) = Self::with_mail_only(clock).await;
        for (name, value) in settings {
            stack.set(name, value);
        }
        stack.start_services().await;
        stack.start_delivery();
        (stack, mail)
    }
}

impl MailServer {
    pub async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let server = Self {
            address: listener.local_addr().unwrap(),
            state: Arc::new(Mutex::new(State {
                manner: Manner::Takes,
                taken: Vec::new(),
                sessions: 0,
            })),
        };
        let state = Arc::clone(&server.state);
        tokio::spawn(async move {
            loop {
                let (connection, _) = listener.accept().await.unwrap();
                state.lock().unwrap().sessions += 1;
                let state = Arc::clone(&state);
                // A client may break off the session.
                tokio::spawn(async move { serve(connection, &state).await.ok() });
            }
        });
        server
    }

    /// The server's URL with user and password.
    pub fn url(&self) -> String {
        let password = MAIL_PASSWORD.replace(' ', "%20");
        format!("smtp://mailer:{password}@{}", self.address)
    }

    /// Turns e-mail on in a stack, through this server. Call it before the services start.
    pub fn set_in(&self, stack: &mut Stack) {
        stack.set("SMTP_URL", &self.url());
        stack.set("EMAIL_FROM", "Acme <mail@referrals.example>");
    }

    pub fn set_manner(&self, manner: Manner) {
        self.state.lock().unwrap().manner = manner;
    }

    pub fn taken(&self) -> Vec<ReceivedEmail> {
        self.state.lock().unwrap().taken.clone()
    }

    /// Number of sessions that clients began.
    pub fn sessions(&self) -> usize {
        self.state.lock().unwrap().sessions
    }

    /// The e-mails to this address with this text in their subject, in order of arrival.
    pub fn about(&self, to: &str, subject: &str) -> Vec<ReceivedEmail> {
        let taken = self.taken().into_iter();
        taken
            .filter(|email| email.to == to && email.header("Subject").contains(subject))
            .collect()
    }

    /// Waits for an e-mail to this address with this text in its subject.
    pub async fn received(&self, stack: &Stack, to: &str, subject: &str) -> ReceivedEmail {
        self.received_after(stack, to, subject, 0).await
    }

    /// Waits for the e-mail that follows the first `before` matching ones.
    pub async fn received_after(
        &self,
        stack: &Stack,
        to: &str,
        subject: &str,
        before: usize,
    ) -> ReceivedEmail {
        let what = format!("an e-mail to {to} about {subject}");
        stack
            .eventually(&what, async || self.about(to, subject).len() > before)
            .await;
        self.about(to, subject)[before].clone()
    }
}

impl ReceivedEmail {
    /// A header's value, unfolded; empty if the header is missing.
    pub fn header(&self, name: &str) -> String {
        let (head, _) = self.message.split_once("\r\n\r\n").unwrap();
        let head = head.replace("\r\n ", " ");
        let line = head
            .lines()
            .find_map(|line| line.strip_prefix(name)?.strip_prefix(": "));
        line.unwrap_or_default().to_owned()
    }

    pub fn text(&self) -> String {
        self.part("text/plain")
    }

    pub fn html(&self) -> String {
        self.part("text/html")
    }

    /// The rest of the line in the text part that begins with `start`.
    pub fn link(&self, start: &str) -> String {
        let text = self.text();
        let link = text.lines().find(|line| line.starts_with(start));
        link.unwrap_or_else(|| panic!("no {start} in {text}")).to_owned()
    }

    /// The token after `#` in the e-mail's link.
    pub fn token(&self) -> String {
        let link = self.link("http");
        link.split_once('#').unwrap().1.to_owned()
    }

    fn part(&self, kind: &str) -> String {
        let (_, part) = self.message.split_once(&format!("Content-Type: {kind}")).unwrap();
        let (head, rest) = part.split_once("\r\n\r\n").unwrap();
        let body = rest.split("\r\n--").next().unwrap();
        if head.contains("quoted-printable") {
            decoded(body)
        } else {
            body.replace("\r\n", "\n")
        }
    }
}

/// Decodes quoted-printable.
fn decoded(text: &str) -> String {
    let text = text.replace("=\r\n", "").replace("\r\n", "\n");
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let Some((&byte, more)) = rest.split_first() {
        rest = more;
        if byte == b'=' {
            let (digits, more) = rest.split_at(2);
            bytes.push(u8::from_str_radix(std::str::from_utf8(digits).unwrap(), 16).unwrap());
            rest = more;
        } else {
            bytes.push(byte);
        }
    }
    String::from_utf8(bytes).unwrap()
}

async fn serve(connection: TcpStream, state: &Mutex<State>) -> std::io::Result<()> {
    let mut connection = BufReader::new(connection);
    connection.write_all(b"220 test\r\n").await?;
    let mut to = String::new();
    loop {
        let mut line = String::new();
        if connection.read_line(&mut line).await? == 0 {
            return Ok(());
        }
        let verb = line.get(..4).unwrap_or_default().to_uppercase();
        let verb = verb.trim();
        let Some(answer) = answer(&mut connection, state, verb).await else {
            return Ok(());
        };
        if verb == "RCPT" {
            to = line.split(['<', '>']).nth(1).unwrap_or_default().to_owned();
        }
        connection.write_all(answer.as_bytes()).await?;
        if verb == "QUIT" {
            return Ok(());
        }
        if answer.starts_with("354") {
            let message = message(&mut connection).await?;
            let Some(answer) = self::answer(&mut connection, state, ".").await else {
                return Ok(());
            };
            if answer.starts_with('2') {
                let to = to.clone();
                state.lock().unwrap().taken.push(ReceivedEmail { to, message });
            }
            connection.write_all(answer.as_bytes()).await?;
        }
    }
}

/// `None` means that the connection is closed.
async fn answer(connection: &mut BufReader<TcpStream>, state: &Mutex<State>, verb: &str) -> Option<String> {
    let manner = state.lock().unwrap().manner;
    match manner {
        Manner::Answers(at, answer) if at == verb => return Some(format!("{answer}\r\n")),
        Manner::Closes(at) if at == verb => return None,
        Manner::Hangs(at) if at == verb => {
            // Wait until the client leaves.
            let mut rest = String::new();
            while connection.read_line(&mut rest).await.is_ok_and(|read| read > 0) {}
            return None;
        }
        _ => {}
    }
    let answer = match verb {
        "EHLO" => "250-test\r\n250-8BITMIME\r\n250-SMTPUTF8\r\n250 AUTH PLAIN LOGIN",
        "AUTH" => "235 2.7.0 welcome",
        "DATA" => "354 go on",
        "QUIT" => "221 bye",
        _ => "250 2.0.0 fine",
    };
    Some(format!("{answer}\r\n"))
}

async fn message(connection: &mut BufReader<TcpStream>) -> std::io::Result<String> {
    let mut message = String::new();
    loop {
        let mut line = String::new();
        if connection.read_line(&mut line).await? == 0 || line == ".\r\n" {
            return Ok(message);
        }
        message.push_str(line.strip_prefix('.').unwrap_or(&line));
    }
}
