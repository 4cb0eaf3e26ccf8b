//! Connections beyond the cap: each is told 503 and when to come again, and is closed.
//!
//! Phases of one: its first bytes arrive (a client that is answered before it has asked calls that a broken connection) →
//! the answer → what else it sends is read and dropped, since closing on unread bytes resets the connection and may take
//! the answer with it. Bounds: [`AT_ONCE`] such connections, [`WITHIN`] each; what comes while all are busy is closed
//! without a word.

use std::sync::Arc;
use std::time::Duration;

use axum::http::StatusCode;
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::Semaphore;

use crate::lifecycle::Lifecycle;
use crate::metrics::CONNECTIONS_TURNED_AWAY;
use crate::platform_error::platform_error;
use crate::shed::Shed;

const AT_ONCE: usize = 1_024;
const WITHIN: Duration = Duration::from_secs(2);

#[derive(Debug)]
pub(super) struct TurnedAway {
    lifecycle: Lifecycle,
    places: Arc<Semaphore>,
    answer: Arc<str>,
    shed: Shed,
}

impl TurnedAway {
    pub(super) fn new(lifecycle: &Lifecycle) -> Self {
        Self {
            lifecycle: lifecycle.clone(),
            places: Arc::new(Semaphore::new(AT_ONCE)),
            answer: answer().into(),
            shed: Shed::new(CONNECTIONS_TURNED_AWAY.with([])),
        }
    }

    pub(super) fn tell(&self, stream: TcpStream) {
        if let Some(turned_away) = self.shed.one_more() {
            tracing::warn!(turned_away, "more connections than are allowed");
        }
        let Ok(place) = Arc::clone(&self.places).try_acquire_owned() else {
            return;
        };
        let telling = tokio::time::timeout(WITHIN, tell(stream, Arc::clone(&self.answer)));
        let soft = self.lifecycle.soft().clone();
        self.lifecycle.tasks().spawn(async move {
            // Whoever vanishes or stalls meanwhile has nothing to be told.
            let _ = soft.run_until_cancelled_owned(telling).await;
            drop(place);
        });
    }
}

async fn tell(mut stream: TcpStream, answer: Arc<str>) -> std::io::Result<()> {
    let mut dropped = [0; 4096];
    if stream.read(&mut dropped).await? == 0 {
        return Ok(());
    }
    stream.write_all(answer.as_bytes()).await?;
    stream.shutdown().await?;
    while stream.read(&mut dropped).await? > 0 {}
    Ok(())
}

fn answer() -> String {
    let status = StatusCode::SERVICE_UNAVAILABLE;
    let body = platform_error(status, "The service is over capacity", &json!({})).to_string();
    format!(
        "HTTP/1.1 {status}\r\ncontent-type: application/json\r\nx-content-type-options: nosniff\r\nretry-after: 1\r\n\
         connection: close\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    )
}
