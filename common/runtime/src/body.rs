//! Reads a request's body, with limits of size and time.

use std::future::ready;
use std::time::Duration;

use axum::body::{Bytes, HttpBody};
use axum::extract::{FromRequest, Request};
use axum::http::{StatusCode, header};
use futures::StreamExt;

/// A slower body is an attack or a broken connection.
const READ_TIMEOUT: Duration = Duration::from_secs(10);

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum BodyError {
    #[error("Request body is too large")]
    TooLarge,
    #[error("Request body did not arrive in time")]
    TooSlow,
    /// The framing of the body is invalid.
    #[error("Request body could not be read")]
    Broken,
}

impl BodyError {
    pub fn status(self) -> StatusCode {
        match self {
            Self::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
            Self::TooSlow => StatusCode::REQUEST_TIMEOUT,
            Self::Broken => StatusCode::BAD_REQUEST,
        }
    }
}

/// A body of at most this many times the limit is read and dropped before it is refused: a client often
/// misses an answer if its connection closes while it still writes. A larger body is refused unread.
const DROPPED: u64 = 4;

/// Reads the whole body. Refuses an announced length over the limit; without one, axum's own limit holds.
pub async fn read(request: Request, limit_bytes: u64) -> Result<Bytes, BodyError> {
    let announced = request.body().size_hint().lower();
    if announced > limit_bytes {
        // A client that sends `Expect` waits for permission before it sends the body.
        let is_sent = !request.headers().contains_key(header::EXPECT);
        if is_sent && announced <= DROPPED.saturating_mul(limit_bytes) {
            let dropped = request.into_body().into_data_stream().for_each(|_| ready(()));
            // The answer is the same if the body does not end in time.
            let _ = tokio::time::timeout(READ_TIMEOUT, dropped).await;
        }
        return Err(BodyError::TooLarge);
    }
    tokio::time::timeout(READ_TIMEOUT, Bytes::from_request(request, &()))
        .await
        .map_err(|_| BodyError::TooSlow)?
        .map_err(|rejection| match rejection.status() {
            StatusCode::PAYLOAD_TOO_LARGE => BodyError::TooLarge,
            _ => BodyError::Broken,
        })
}
