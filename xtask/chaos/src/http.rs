//! Sends one request on its own connection.

use std::time::Duration;

use reqwest::header::CONNECTION;
use reqwest::{Client, RequestBuilder};
use serde_json::Value;

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

#[cfg(test)]
mod tests {
    use serde_json::json;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;

    use super::*;

    /// What a client makes of a server that sends this and closes.
    async fn answer_of(text: &'static str) -> Answer {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let to = listener.local_addr().unwrap();
        let serving = async {
            let (mut stream, _) = listener.accept().await.unwrap();
            let _ = stream.read(&mut [0; 4_096]).await.unwrap();
            stream.write_all(text.as_bytes()).await.unwrap();
        };
        let request = client()
            .unwrap()
            .post(format!("http://{to}/sale"))
            .json(&json!({}));
        tokio::join!(send(request), serving).0
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
}
