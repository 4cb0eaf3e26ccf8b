//! The least of an HTTP/1.1 client: one request at a time on a connection that stays. It is to cost less than what it
//! measures.

use std::io::{self, ErrorKind};
use std::net::SocketAddr;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

pub(super) struct Connection {
    stream: TcpStream,
    received: Vec<u8>,
}

impl Connection {
    pub(super) async fn open(address: SocketAddr) -> io::Result<Self> {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        Ok(Self {
            stream,
            received: Vec::with_capacity(4096),
        })
    }

    /// The status of the answer, once all of it is here.
    pub(super) async fn exchange(&mut self, request: &[u8]) -> io::Result<u16> {
        self.stream.write_all(request).await?;
        self.received.clear();
        loop {
            if self.stream.read_buf(&mut self.received).await? == 0 {
                return Err(ErrorKind::UnexpectedEof.into());
            }
            if let Some(status) = whole(&self.received) {
                return Ok(status);
            }
        }
    }
}

/// The status of an answer that is whole.
fn whole(received: &[u8]) -> Option<u16> {
    let end = received.windows(4).position(|bytes| bytes == b"\r\n\r\n")?;
    let head = std::str::from_utf8(received.get(..end)?).ok()?;
    let length: usize = head
        .lines()
        .find_map(|line| line.strip_prefix("content-length: "))
        .map_or(Some(0), |length| length.parse().ok())?;
    if received.len() < end + 4 + length {
        return None;
    }
    head.get("HTTP/1.1 ".len()..)?.get(..3)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::whole;

    #[test]
    fn an_answer_is_whole_with_its_last_byte() {
        let answer = b"HTTP/1.1 429 Too Many Requests\r\ncontent-length: 2\r\n\r\n{}";
        for cut in 0..answer.len() {
            assert_eq!(whole(&answer[..cut]), None, "{cut}");
        }
        assert_eq!(whole(answer), Some(429));
    }
}
