//! Sends one request on its own connection; the client may disconnect in the middle of it.

use std::net::SocketAddr;
use std::time::Duration;

use anyhow::Result;
use reqwest::header::CONNECTION;
use reqwest::{Client, RequestBuilder};
use serde_json::Value;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

use super::journal::Answer;

/// Longer than the service waits for an outcome.
const PATIENCE: Duration = Duration::from_millis(6_500);

pub(super) fn client() -> reqwest::Result<Client> {
    Client::builder()
        .no_proxy()
        .pool_max_idle_per_host(0)
        .timeout(PATIENCE)
        .build()
}

pub(super) async fn send(request: RequestBuilder) -> Answer {
    match receive(request.header(CONNECTION, "close")).await {
        Ok(answer) => answer,
        Err(error) if error.is_connect() => Answer::Refused,
        Err(error) if error.is_timeout() => Answer::Late,
        Err(error) => Answer::Broken(format!("{:#}", anyhow::Error::from(error))),
    }
}

async fn receive(request: RequestBuilder) -> reqwest::Result<Answer> {
    let response = request.send().await?;
    let status = response.status().as_u16();
    let text = response.text().await?;
    let body = serde_json::from_str(&text).unwrap_or(Value::String(text));
    Ok(Answer::Received { status, body })
}

/// Disconnects after sending this percentage of the request.
pub(super) async fn hang_up(to: SocketAddr, request: RequestBuilder, percent: u64) -> Answer {
    let Ok(bytes) = bytes(request) else {
        return Answer::Broken("no request".to_owned());
    };
    let Ok(mut stream) = TcpStream::connect(to).await else {
        return Answer::Refused;
    };
    let sent = bytes.len() * usize::try_from(percent.min(100)).unwrap_or(100) / 100;
    let _ = stream.write_all(bytes.get(..sent).unwrap_or_default()).await;
    Answer::HungUp
}

/// As it is sent.
fn bytes(request: RequestBuilder) -> Result<Vec<u8>> {
    let request = request.build()?;
    let body = request
        .body()
        .and_then(|body| body.as_bytes())
        .unwrap_or_default();
    let mut text = format!(
        "POST {} HTTP/1.1\r\nHost: edge\r\nContent-Length: {}\r\n",
        request.url().path(),
        body.len()
    );
    for (name, value) in request.headers() {
        text.extend([name.as_str(), ": ", value.to_str()?, "\r\n"]);
    }
    Ok([text.as_bytes(), b"\r\n", body].concat())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use tokio::io::AsyncReadExt;
    use tokio::net::TcpListener;

    fn request(to: SocketAddr) -> RequestBuilder {
        let client = client().unwrap();
        client
            .post(format!("http://{to}/sale"))
            .bearer_auth("t")
            .json(&json!({}))
    }

    /// A server, and its address.
    async fn server() -> (TcpListener, SocketAddr) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let to = listener.local_addr().unwrap();
        (listener, to)
    }

    /// What a client makes of a server that sends this and closes.
    async fn answer_of(text: &'static str) -> Answer {
        let (listener, to) = server().await;
        let serving = async {
            let (mut stream, _) = listener.accept().await.unwrap();
            let _ = stream.read(&mut [0; 4_096]).await.unwrap();
            stream.write_all(text.as_bytes()).await.unwrap();
        };
        tokio::join!(send(request(to)), serving).0
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
        let (listener, to) = server().await;
        drop(listener);
        assert_eq!(send(request(to)).await, Answer::Refused);
    }

    #[tokio::test]
    async fn a_client_that_hangs_up_has_sent_a_part_of_its_request() {
        let (listener, to) = server().await;
        let whole = "POST /sale HTTP/1.1\r\nHost: edge\r\nContent-Length: 2\r\nauthorization: Bearer t\r\n\
                     content-type: application/json\r\n\r\n{}";
        for (percent, expected) in [(0, ""), (50, &whole[..whole.len() / 2]), (100, whole)] {
            assert_eq!(hang_up(to, request(to), percent).await, Answer::HungUp);
            let mut sent = String::new();
            let (mut stream, _) = listener.accept().await.unwrap();
            stream.read_to_string(&mut sent).await.unwrap();
            assert_eq!(sent, expected);
        }
    }
}
