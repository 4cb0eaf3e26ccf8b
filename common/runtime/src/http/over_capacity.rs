//! Rejects connections beyond the limit with 503 and `Retry-After`, then closes them.
//!
//! Phases:
//!
//! 1. Wait for the first bytes: a client that is answered before it sent a request reports a broken
//!    connection.
//! 2. Answer.
//! 3. Read and drop the rest: closing a socket with unread bytes resets it, and the answer may be lost.
//!
//! Bounds: [`MAX_CONCURRENT`] such connections, [`TIMEOUT`] each. Others are closed without an answer.

use std::sync::Arc;
use std::time::Duration;

use axum::http::StatusCode;
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::Semaphore;

use crate::lifecycle::Lifecycle;
use crate::metrics::CONNECTIONS_REJECTED;
use crate::platform_error::platform_error;
use crate::sampled_counter::SampledCounter;

const MAX_CONCURRENT: usize = 1_024;
const TIMEOUT: Duration = Duration::from_secs(2);

#[derive(Debug)]
pub(super) struct OverCapacity {
    lifecycle: Lifecycle,
    permits: Arc<Semaphore>,
    response: Arc<str>,
    rejected: SampledCounter,
}

impl OverCapacity {
    pub(super) fn new(lifecycle: &Lifecycle) -> Self {
        Self {
            lifecycle: lifecycle.clone(),
            permits: Arc::new(Semaphore::new(MAX_CONCURRENT)),
            response: response().into(),
            rejected: SampledCounter::new(CONNECTIONS_REJECTED.with([])),
        }
    }

    pub(super) fn reject(&self, stream: TcpStream) {
        if let Some(rejected) = self.rejected.increment() {
            tracing::warn!(rejected, "connection limit reached, rejecting");
        }
        let Ok(permit) = Arc::clone(&self.permits).try_acquire_owned() else {
            return;
        };
        let answer = tokio::time::timeout(TIMEOUT, answer(stream, Arc::clone(&self.response)));
        let soft = self.lifecycle.soft().clone();
        self.lifecycle.tasks().spawn(async move {
            // The client may have disconnected or stalled; that is no error.
            let _ = soft.run_until_cancelled_owned(answer).await;
            drop(permit);
        });
    }
}

async fn answer(mut stream: TcpStream, response: Arc<str>) -> std::io::Result<()> {
    let mut dropped = [0; 4096];
    if stream.read(&mut dropped).await? == 0 {
        return Ok(());
    }
    stream.write_all(response.as_bytes()).await?;
    stream.shutdown().await?;
    while stream.read(&mut dropped).await? > 0 {}
    Ok(())
}

fn response() -> String {
    let status = StatusCode::SERVICE_UNAVAILABLE;
    let body = platform_error(status, "The service is over capacity", &json!({})).to_string();
    format!(
        "HTTP/1.1 {status}\r\ncontent-type: application/json\r\nx-content-type-options: nosniff\r\nretry-after: 1\r\n\
         connection: close\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    )
}
