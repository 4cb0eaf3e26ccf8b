//! HTTP as bytes, for requests that no client library would send.

use std::net::SocketAddr;

use reqwest::StatusCode;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use serde_json::Value;
use test_harness::Answer;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};

/// One connection.
pub struct Wire {
    from: BufReader<OwnedReadHalf>,
    to: OwnedWriteHalf,
}

impl Wire {
    pub async fn open(address: SocketAddr) -> Self {
        let (from, to) = TcpStream::connect(address).await.unwrap().into_split();
        Self {
            from: BufReader::new(from),
            to,
        }
    }

    /// Sends bytes as far as the service takes them, and reads the answer meanwhile: the service may refuse
    /// early and close.
    pub async fn exchange(&mut self, request: &[u8]) -> Option<Answer> {
        let to = &mut self.to;
        let sending = async {
            // The service may have refused early and closed the connection.
            let _ = to.write_all(request).await;
            std::future::pending::<()>().await;
        };
        let is_head = request.starts_with(b"HEAD ");
        tokio::select! {
            answer = read(&mut self.from, is_head) => answer,
            () = sending => None,
        }
    }

    pub async fn send(&mut self, bytes: &[u8]) {
        self.to.write_all(bytes).await.unwrap();
    }

    /// The next answer; `None` if the connection ends instead.
    pub async fn answer(&mut self) -> Option<Answer> {
        read(&mut self.from, false).await
    }
}

async fn read(from: &mut BufReader<OwnedReadHalf>, is_head: bool) -> Option<Answer> {
    let status = line(from).await?;
    let status = status.split(' ').nth(1)?.parse().ok()?;
    let mut headers = HeaderMap::new();
    loop {
        let line = line(from).await?;
        let Some((name, value)) = line.split_once(": ") else {
            break;
        };
        headers.append(
            HeaderName::from_bytes(name.as_bytes()).unwrap(),
            HeaderValue::from_str(value).unwrap(),
        );
    }
    let length = headers.get("content-length");
    let length = length.map_or(0, |length| length.to_str().unwrap().parse().unwrap());
    let mut body = vec![0; if is_head { 0 } else { length }];
    from.read_exact(&mut body).await.ok()?;
    let text = String::from_utf8(body).unwrap();
    Some(Answer {
        status: StatusCode::from_u16(status).unwrap(),
        headers,
        body: serde_json::from_str(&text).unwrap_or(Value::String(text)),
    })
}

/// A line without its end; `None` if the connection has ended.
async fn line(from: &mut BufReader<OwnedReadHalf>) -> Option<String> {
    let mut line = String::new();
    from.read_line(&mut line).await.ok().filter(|bytes| *bytes > 0)?;
    Some(line.trim_end().to_owned())
}
