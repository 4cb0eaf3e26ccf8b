//! As much of an HTTP server as the pages, their forms and the receiver of webhooks need: one request a connection.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::TcpStream;

use anyhow::Result;
use percent_encoding::percent_decode_str;

const LONGEST_HEAD: u64 = 64 << 10;
const LONGEST_BODY: u64 = 1 << 20;
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; base-uri 'none'";

#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(super) struct Request {
    pub(super) method: String,
    pub(super) path: String,
    /// In their order, the names in lower case.
    pub(super) headers: Vec<(String, String)>,
    pub(super) body: Vec<u8>,
}

pub(super) enum Answer {
    Page(&'static str, String),
    /// To the page that shows what a form has changed.
    SeeOther(&'static str),
    /// To a program, with a status.
    Text(&'static str, String),
    /// None, until the client has had enough.
    Silence,
}

impl Request {
    /// `None` for what is none, and for what is too long.
    fn read(reader: &mut impl BufRead) -> Result<Option<Self>> {
        let mut head = reader.by_ref().take(LONGEST_HEAD);
        let mut request = Self::default();
        let mut line = String::new();
        head.read_line(&mut line)?;
        let mut words = line.split_whitespace().map(str::to_owned);
        let (Some(method), Some(path)) = (words.next(), words.next()) else {
            return Ok(None);
        };
        (request.method, request.path) = (method, path);
        loop {
            line.clear();
            head.read_line(&mut line)?;
            let Some((name, value)) = line.split_once(':') else {
                break;
            };
            let header = (name.to_ascii_lowercase(), value.trim().to_owned());
            request.headers.push(header);
        }
        let length = request.header("content-length").unwrap_or("0").parse();
        let (Ok(length @ 0..=LONGEST_BODY), None) = (length, request.header("transfer-encoding")) else {
            return Ok(None);
        };
        reader.take(length).read_to_end(&mut request.body)?;
        Ok(Some(request))
    }

    pub(super) fn header(&self, name: &str) -> Option<&str> {
        let mut each = self.headers.iter();
        each.find(|(of_it, _)| of_it == name)
            .map(|(_, value)| value.as_str())
    }

    /// A field of a form that a page of ours sent.
    pub(super) fn field(&self, name: &str) -> Option<String> {
        let form = String::from_utf8_lossy(&self.body);
        let mut fields = form.split('&').filter_map(|field| field.split_once('='));
        let (_, value) = fields.find(|(of_it, _)| *of_it == name)?;
        let value = value.replace('+', " ");
        let value = percent_decode_str(&value).decode_utf8_lossy();
        Some(value.trim().to_owned())
    }

    /// Whether a page of another site makes the browser send this.
    pub(super) fn is_from_another_site(&self) -> bool {
        self.header("sec-fetch-site")
            .is_some_and(|site| site != "same-origin")
    }
}

/// Answers the one request of a connection.
pub(super) fn serve<S>(connection: &TcpStream, state: &S, answer: fn(&Request, &S) -> Answer) -> Result<()> {
    let mut reader = BufReader::new(connection);
    let answer = match Request::read(&mut reader)? {
        Some(request) => answer(&request, state),
        None => Answer::Text("400 Bad Request", "not understood, or too long\n".to_owned()),
    };
    write(connection, answer)
}

fn write(mut connection: &TcpStream, answer: Answer) -> Result<()> {
    let (status, header, body) = match answer {
        Answer::Page(status, body) => (status, "Content-Type: text/html; charset=utf-8".to_owned(), body),
        Answer::SeeOther(path) => ("303 See Other", format!("Location: {path}"), String::new()),
        Answer::Text(status, body) => (status, "Content-Type: text/plain; charset=utf-8".to_owned(), body),
        Answer::Silence => {
            io::copy(&mut connection, &mut io::sink())?;
            return Ok(());
        }
    };
    write!(
        connection,
        "HTTP/1.1 {status}\r\n{header}\r\nContent-Length: {}\r\nConnection: close\r\nCache-Control: no-store\r\n\
         Content-Security-Policy: {POLICY}\r\nX-Content-Type-Options: nosniff\r\nReferrer-Policy: no-referrer\r\n\r\n{body}",
        body.len()
    )?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Option<Request> {
        Request::read(&mut text.as_bytes()).unwrap()
    }

    #[test]
    fn a_request_is_read_to_the_end_of_its_body() {
        let text = "POST /secrets HTTP/1.1\r\nHost: a\r\nContent-Length: 25\r\nSec-Fetch-Site: cross-site\r\n\r\n\
                    secret=+whsec_a%2Bb%3D&x=and more";
        let request = read(text).unwrap();
        assert_eq!(
            (request.method.as_str(), request.path.as_str()),
            ("POST", "/secrets")
        );
        assert_eq!(request.field("secret").as_deref(), Some("whsec_a+b="));
        assert_eq!(request.field("x").as_deref(), Some(""));
        assert!(request.is_from_another_site());
        assert!(!read("GET / HTTP/1.1\r\n\r\n").unwrap().is_from_another_site());
    }

    #[test]
    fn what_is_no_request_or_too_long_is_refused() {
        for text in [
            "",
            "GET\r\n\r\n",
            "POST / HTTP/1.1\r\nContent-Length: 1048577\r\n\r\n",
            "POST / HTTP/1.1\r\nContent-Length: -1\r\n\r\n",
            "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        ] {
            assert_eq!(read(text), None, "{text}");
        }
    }
}
