//! Sends one request on its own connection; the client may disconnect in the middle of it.

use std::net::SocketAddr;
use std::time::Duration;

use reqwest::{Client, RequestBuilder};
use serde_json::Value;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

use super::journal::Answer;

/// Longer than the service waits for an outcome.
const PATIENCE: Duration = Duration::from_millis(6_500);

#[derive(Debug)]
pub(super) struct Request {
    pub(super) path: String,
    /// The credential or the signature.
    pub(super) header: Option<(&'static str, String)>,
    pub(super) body: String,
}

pub(super) fn client() -> reqwest::Result<Client> {
    Client::builder()
        .no_proxy()
        .pool_max_idle_per_host(0)
        .timeout(PATIENCE)
        .build()
}

pub(super) async fn send(client: &Client, to: SocketAddr, request: Request) -> Answer {
    let mut builder = client
        .post(format!("http://{to}{}", request.path))
        .header("Connection", "close")
        .header("Content-Type", "application/json")
        .body(request.body);
    if let Some((name, value)) = request.header {
        builder = builder.header(name, value);
    }
    match receive(builder).await {
        Ok(answer) => answer,
        Err(error) if error.is_connect() => Answer::Refused,
        Err(error) if error.is_timeout() => Answer::Late,
        Err(error) => Answer::Broken(format!("{:#}", anyhow::Error::from(error))),
    }
}

async fn receive(builder: RequestBuilder) -> reqwest::Result<Answer> {
    let response = builder.send().await?;
    let status = response.status().as_u16();
    let text = response.text().await?;
    let body = serde_json::from_str(&text).unwrap_or(Value::String(text));
    Ok(Answer::Received { status, body })
}

/// Disconnects after sending this percentage of the request.
pub(super) async fn hang_up(to: SocketAddr, request: &Request, percent: u64) -> Answer {
    let Request { path, header, body } = request;
    let header = header
        .as_ref()
        .map_or(String::new(), |(name, value)| format!("{name}: {value}\r\n"));
    let text = format!(
        "POST {path} HTTP/1.1\r\nHost: edge\r\nContent-Type: application/json\r\n{header}Content-Length: {}\r\n\r\n{body}",
        body.len()
    );
    let Ok(mut stream) = TcpStream::connect(to).await else {
        return Answer::Refused;
    };
    let sent = text.len() * usize::try_from(percent.min(100)).unwrap_or(100) / 100;
    let _ = stream
        .write_all(text.as_bytes().get(..sent).unwrap_or_default())
        .await;
    Answer::HungUp
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use tokio::io::AsyncReadExt;
    use tokio::net::TcpListener;

    /// What a client makes of a server that sends this and closes.
    async fn answer_of(text: &'static str) -> Answer {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let to = listener.local_addr().unwrap();
        let serving = tokio::spawn(async move {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut request = vec![0; 4_096];
            let _ = stream.read(&mut request).await.unwrap();
            stream.write_all(text.as_bytes()).await.unwrap();
        });
        let request = Request {
            path: "/".to_owned(),
            header: None,
            body: "{}".to_owned(),
        };
        let answer = send(&client().unwrap(), to, request).await;
        serving.await.unwrap();
        answer
    }

    #[tokio::test]
    async fn half_an_answer_leaves_the_outcome_unknown() {
        let expected = Answer::Received {
            status: 200,
            body: json!({ "a": 12 }),
        };
        let whole = "HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n{\"a\": 12}";
        assert_eq!(answer_of(whole).await, expected);
        for half in [
            "",
            "HTTP/1.1 200 O",
            "HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n{\"a\"",
        ] {
            let answer = answer_of(half).await;
            assert!(matches!(answer, Answer::Broken(_)), "{half}: {answer:?}");
        }
    }

    #[tokio::test]
    async fn where_no_server_listens_a_request_is_refused() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let to = listener.local_addr().unwrap();
        drop(listener);
        let request = Request {
            path: "/".to_owned(),
            header: None,
            body: String::new(),
        };
        assert_eq!(send(&client().unwrap(), to, request).await, Answer::Refused);
    }
}
