//! Reading a request's body: bounded in size and in time.

use std::time::Duration;

use axum::body::{Bytes, HttpBody};
use axum::extract::{FromRequest, Request};
use axum::http::StatusCode;

/// A slower body is an attack or a broken connection.
const READ_TIMEOUT: Duration = Duration::from_secs(10);

/// Why a body could not be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum BodyError {
    #[error("Request body is too large")]
    TooLarge,
    #[error("Request body did not arrive in time")]
    TooSlow,
    /// Its framing is broken.
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

/// Reads the whole body. Rejects a body that announces more than the limit without reading it; the server enforces the limit while it
/// reads.
pub async fn read(request: Request, limit_bytes: u64) -> Result<Bytes, BodyError> {
    if request.body().size_hint().lower() > limit_bytes {
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
