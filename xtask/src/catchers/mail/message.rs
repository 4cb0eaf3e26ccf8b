//! What a message says: subject, text, HTML, links. As much of MIME as our own messages use.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

/// An e-mail as people read it.
pub(super) struct Email {
    pub(super) to: String,
    pub(super) from: String,
    pub(super) subject: String,
    pub(super) date: String,
    pub(super) text: String,
    pub(super) html: String,
}

impl Email {
    pub(super) fn of(to: &str, message: &str) -> Self {
        let (head, body) = message.split_once("\r\n\r\n").unwrap_or((message, ""));
        let header = |name| unquoted(&header_of(head, name));
        let content = header_of(head, "Content-Type");
        let (mut text, mut html) = (String::new(), String::new());
        for part in parts(&content, head, body) {
            let (head, body) = part.split_once("\r\n\r\n").unwrap_or((part.as_str(), ""));
            let kind = header_text(head, "Content-Type");
            let body = decoded(body, &header_text(head, "Content-Transfer-Encoding"));
            if kind.starts_with("text/html") {
                html = body;
            } else if text.is_empty() {
                text = body;
            }
        }
        Self {
            to: to.to_owned(),
            from: header("From"),
            subject: header("Subject"),
            date: header("Date"),
            text,
            html,
        }
    }

    /// Addresses in the text, each once.
    pub(super) fn links(&self) -> Vec<&str> {
        let words = self.text.split_whitespace();
        let mut links: Vec<&str> = words.filter(|word| word.starts_with("http")).collect();
        links.dedup();
        links
    }
}

/// The parts of a multipart body, or the whole message as the only one.
fn parts(content: &str, head: &str, body: &str) -> Vec<String> {
    let boundary = content
        .split_once("boundary=")
        .map(|(_, boundary)| boundary.trim_matches(['"', ';', ' ']).to_owned());
    match boundary {
        Some(boundary) => {
            let boundary = format!("--{boundary}");
            body.split(&boundary)
                .filter(|part| part.contains("\r\n\r\n"))
                .map(|part| part.trim_start().to_owned())
                .collect()
        }
        None => vec![format!("{head}\r\n\r\n{body}")],
    }
}

fn header_text(head: &str, name: &str) -> String {
    header_of(head, name).to_ascii_lowercase()
}

/// Unfolded; empty when it is not there.
fn header_of(head: &str, name: &str) -> String {
    let head = head.replace("\r\n ", " ").replace("\r\n\t", " ");
    let mut lines = head.lines().filter_map(|line| line.split_once(':'));
    let found = lines.find(|(of_it, _)| of_it.eq_ignore_ascii_case(name));
    found.map_or_else(String::new, |(_, value)| value.trim().to_owned())
}

/// Words in `=?utf-8?b?…?=` are decoded.
fn unquoted(value: &str) -> String {
    let mut text = String::new();
    let mut after_encoded = false;
    for word in value.split(' ') {
        let encoded = word
            .strip_prefix("=?utf-8?b?")
            .and_then(|it| it.strip_suffix("?="));
        // Between two of them a blank is only a fold.
        if !(text.is_empty() || after_encoded && encoded.is_some()) {
            text.push(' ');
        }
        after_encoded = encoded.is_some();
        match encoded {
            Some(encoded) => text.push_str(&String::from_utf8_lossy(&of_base64(encoded))),
            None => text.push_str(word),
        }
    }
    text
}

fn decoded(body: &str, encoding: &str) -> String {
    match encoding {
        "quoted-printable" => of_quoted_printable(body),
        "base64" => String::from_utf8_lossy(&of_base64(body)).into_owned(),
        _ => body.replace("\r\n", "\n"),
    }
}

fn of_quoted_printable(body: &str) -> String {
    let body = body.replace("=\r\n", "").replace("\r\n", "\n");
    let mut bytes = Vec::with_capacity(body.len());
    let mut rest = body.as_bytes();
    while let [byte, more @ ..] = rest {
        rest = more;
        let code = match (byte, more) {
            (b'=', [high, low, after @ ..]) => {
                let digit = |byte: &u8| {
                    char::from(*byte)
                        .to_digit(16)
                        .and_then(|it| u8::try_from(it).ok())
                };
                digit(high)
                    .zip(digit(low))
                    .map(|(high, low)| (high << 4 | low, after))
            }
            _ => None,
        };
        if let Some((code, after)) = code {
            bytes.push(code);
            rest = after;
        } else {
            bytes.push(*byte);
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// In lines; empty if it is none.
fn of_base64(text: &str) -> Vec<u8> {
    let text: Vec<u8> = text.bytes().filter(|byte| !byte.is_ascii_whitespace()).collect();
    STANDARD.decode(text).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    const MESSAGE: &str = "From: Acme <mail@acme.example>\r\nSubject: You are invited\r\n =?utf-8?b?R3LDtsOfZQ==?=\r\n\
        Content-Type: multipart/alternative;\r\n boundary=\"x\"\r\n\r\n--x\r\nContent-Type: text/plain; charset=utf-8\r\n\
        Content-Transfer-Encoding: quoted-printable\r\n\r\nGr=C3=B6=C3=9Fe\r\nhttps://acme.example/invitation#to=\r\nken\r\n--x\r\n\
        Content-Type: text/html; charset=utf-8\r\nContent-Transfer-Encoding: base64\r\n\r\nPHA+R3LDtsOfZTwvcD4=\r\n--x--\r\n";

    #[test]
    fn a_message_is_read_as_a_mail_program_reads_it() {
        let email = Email::of("ada@letters.example", MESSAGE);
        assert_eq!(email.to, "ada@letters.example");
        assert_eq!(email.subject, "You are invited Größe");
        assert_eq!(email.text, "Größe\nhttps://acme.example/invitation#token\n");
        assert_eq!(email.html, "<p>Größe</p>");
        assert_eq!(email.links(), ["https://acme.example/invitation#token"]);
    }

    #[test]
    fn anything_else_is_shown_as_it_is() {
        let email = Email::of("a@b", "Subject: plain\r\n\r\nhello =\r\n");
        assert_eq!(
            (email.subject.as_str(), email.text.as_str()),
            ("plain", "hello =\n")
        );
        let _ = Email::of("", "");
    }
}
