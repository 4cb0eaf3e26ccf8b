//! A minimal HTTP/1.1 parser for responses.

use memchr::memmem;

/// A complete response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Answer<'a> {
    pub(super) status: u16,
    pub(super) body: &'a [u8],
    /// Has a `Retry-After` header.
    pub(super) retry_after: bool,
    /// Has `Connection: close`.
    pub(super) closes: bool,
}

impl<'a> Answer<'a> {
    /// `None` while bytes are missing. Expects lower-case header names, as hyper writes them.
    pub(super) fn parse(received: &'a [u8]) -> Option<Self> {
        let end = memmem::find(received, b"\r\n\r\n")? + 4;
        let (head, rest) = received.split_at_checked(end)?;
        let body = rest.get(..content_length(head))?;
        Some(Self {
            status: u16::try_from(leading_number(head.get(9..12)?)).ok()?,
            body,
            retry_after: memmem::find(head, b"\r\nretry-after: ").is_some(),
            closes: memmem::find(head, b"\r\nconnection: close").is_some(),
        })
    }
}

fn content_length(head: &[u8]) -> usize {
    const NAME: &[u8] = b"\r\ncontent-length: ";
    memmem::find(head, NAME)
        .and_then(|at| head.get(at + NAME.len()..))
        .map_or(0, leading_number)
}

/// The number at the start.
fn leading_number(text: &[u8]) -> usize {
    text.iter()
        .take_while(|byte| byte.is_ascii_digit())
        .fold(0_usize, |number, digit| {
            number
                .saturating_mul(10)
                .saturating_add(usize::from(digit - b'0'))
        })
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
            retry_after: true,
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
