//! One request to a server of this machine. Without a client's library, so that the command itself is
//! compiled in seconds.

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

#[derive(Debug, PartialEq)]
pub struct Answer {
    pub status: u16,
    /// A text where the body is not JSON, null where there is none.
    pub body: Value,
}

impl Answer {
    /// `received`: the whole answer, as it was sent.
    fn parse(received: &str) -> Option<Self> {
        let (head, body) = received.split_once("\r\n\r\n")?;
        let status = head.split(' ').nth(1)?.parse().ok()?;
        let body = match body {
            "" => Value::Null,
            _ => serde_json::from_str(body).unwrap_or_else(|_| body.into()),
        };
        Some(Self { status, body })
    }

    /// The body; fails unless the status is a success.
    pub fn succeeded(self) -> Result<Value> {
        let Self { status, body } = self;
        ensure!((200..300).contains(&status), "the answer is {status}: {body}");
        Ok(body)
    }
}

/// `limit`: of the connection, and of each wait for what it brings.
pub(crate) fn connect(port: u16, limit: Duration) -> io::Result<TcpStream> {
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    let stream = TcpStream::connect_timeout(&address, limit)?;
    stream.set_read_timeout(Some(limit))?;
    Ok(stream)
}

/// `line`: method, path and version. `headers`: complete lines.
pub(crate) fn ask(port: u16, limit: Duration, line: &str, headers: &str, body: &str) -> Result<Answer> {
    let mut stream = connect(port, limit)?;
    write!(
        stream,
        "{line}\r\nHost: 127.0.0.1\r\nConnection: close\r\n{headers}Content-Length: {}\r\n\r\n{body}",
        body.len()
    )?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    Answer::parse(&answer).with_context(|| format!("no answer of HTTP: {answer}"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_answer_has_a_status_and_a_body() {
        let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n\r\n";
        for (body, expected) in [
            (r#"{"data":[{"id":12}]}"#, json!({ "data": [{ "id": 12 }] })),
            ("ready", json!("ready")),
            ("", Value::Null),
        ] {
            let answer = Answer::parse(&format!("{head}{body}")).unwrap();
            assert_eq!(answer.succeeded().unwrap(), expected);
        }
        let refused = Answer::parse("HTTP/1.1 503 Service Unavailable\r\n\r\n").unwrap();
        assert!(refused.succeeded().is_err());
        assert_eq!(Answer::parse("HTTP/1.1 20"), None);
    }
}
