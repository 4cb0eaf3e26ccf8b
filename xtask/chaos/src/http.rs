//! Sends one request on its own connection; the client may disconnect in the middle of it.

use std::net::SocketAddr;
use std::time::Duration;

use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::journal::Answer;

/// Longer than the service waits for an outcome.
const PATIENCE: Duration = Duration::from_millis(6_500);

#[derive(Debug)]
pub(super) struct Request {
    pub(super) path: String,
    /// Complete lines.
    pub(super) headers: Vec<String>,
    pub(super) body: String,
    /// Disconnects after sending this percentage of it.
    pub(super) hangs_up_at: Option<u64>,
}

pub(super) async fn send(to: SocketAddr, request: &Request) -> Answer {
    let Ok(Ok(stream)) = timeout(PATIENCE, TcpStream::connect(to)).await else {
        return Answer::Refused;
    };
    timeout(PATIENCE, exchange(stream, request))
        .await
        .unwrap_or(Answer::Late)
}

async fn exchange(mut stream: TcpStream, request: &Request) -> Answer {
    let text = text(request);
    let bytes = text.as_bytes();
    if let Some(percent) = request.hangs_up_at {
        let sent = bytes.len() * usize::try_from(percent.min(100)).unwrap_or(100) / 100;
        let _ = stream.write_all(bytes.get(..sent).unwrap_or(bytes)).await;
        return Answer::HungUp;
    }
    if let Err(error) = stream.write_all(bytes).await {
        return Answer::Broken(error.to_string());
    }
    let mut heard = Vec::new();
    if let Err(error) = stream.read_to_end(&mut heard).await {
        return Answer::Broken(error.to_string());
    }
    parse(&heard).unwrap_or_else(|| Answer::Broken(format!("{} bytes of an answer", heard.len())))
}

fn text(request: &Request) -> String {
    let mut text = format!(
        "POST {} HTTP/1.1\r\nHost: edge\r\nConnection: close\r\nContent-Type: application/json\r\nContent-Length: {}\r\n",
        request.path,
        request.body.len()
    );
    for header in &request.headers {
        text.push_str(header);
        text.push_str("\r\n");
    }
    text.push_str("\r\n");
    text.push_str(&request.body);
    text
}

/// `None` for an incomplete response.
fn parse(heard: &[u8]) -> Option<Answer> {
    let text = std::str::from_utf8(heard).ok()?;
    let (top, body) = text.split_once("\r\n\r\n")?;
    let status = top.split(' ').nth(1)?.parse().ok()?;
    let length = top.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        let is_length = name.eq_ignore_ascii_case("content-length");
        is_length.then(|| value.trim().parse::<usize>().ok())?
    });
    if length.is_some_and(|length| body.len() < length) {
        return None;
    }
    let body = serde_json::from_str(body).unwrap_or_else(|_| Value::String(body.to_owned()));
    Some(Answer::Received { status, body })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn half_an_answer_is_none() {
        let whole = "HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n{\"a\": 12}";
        let expected = Answer::Received {
            status: 200,
            body: json!({ "a": 12 }),
        };
        assert_eq!(parse(whole.as_bytes()), Some(expected));
        for length in 0..whole.len() {
            assert_eq!(parse(&whole.as_bytes()[..length]), None, "{length}");
        }
    }
}
