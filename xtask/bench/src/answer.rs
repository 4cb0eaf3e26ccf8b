//! Reads answers, by the parser that hyper has.

use httparse::{EMPTY_HEADER, Header, Response, Status};

/// More than the service sends.
const MOST_HEADERS: usize = 48;

/// A complete response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Answer<'a> {
    pub(super) status: u16,
    pub(super) body: &'a [u8],
    pub(super) has_retry_after: bool,
    /// Has `Connection: close`.
    pub(super) closes: bool,
}

impl<'a> Answer<'a> {
    /// `None` while bytes are missing.
    pub(super) fn parse(received: &'a [u8]) -> Option<Self> {
        let mut headers = [EMPTY_HEADER; MOST_HEADERS];
        let mut head = Response::new(&mut headers);
        let Ok(Status::Complete(end)) = head.parse(received) else {
            return None;
        };
        let length = value(head.headers, "content-length")
            .and_then(|length| std::str::from_utf8(length).ok()?.parse().ok())
            .unwrap_or(0);
        Some(Self {
            status: head.code?,
            body: received.get(end..)?.get(..length)?,
            has_retry_after: value(head.headers, "retry-after").is_some(),
            closes: value(head.headers, "connection") == Some(b"close"),
        })
    }
}

fn value<'a>(headers: &[Header<'a>], name: &str) -> Option<&'a [u8]> {
    let header = headers
        .iter()
        .find(|header| header.name.eq_ignore_ascii_case(name));
    header.map(|header| header.value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_whole_with_its_last_byte() {
        let bytes = b"HTTP/1.1 429 Too Many Requests\r\ncontent-length: 2\r\nretry-after: 7\r\n\r\n{}";
        for cut in 0..bytes.len() {
            assert_eq!(Answer::parse(&bytes[..cut]), None, "{cut}");
        }
        let whole = Answer {
            status: 429,
            body: b"{}",
            has_retry_after: true,
            closes: false,
        };
        assert_eq!(Answer::parse(bytes), Some(whole));
    }

    #[test]
    fn no_length_means_no_body() {
        let answer = Answer::parse(b"HTTP/1.1 204 No Content\r\nconnection: close\r\n\r\n").unwrap();
        assert_eq!((answer.status, answer.body, answer.closes), (204, &b""[..], true));
    }
}
