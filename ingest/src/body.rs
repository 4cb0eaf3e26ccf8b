//! Reading a request's body: bounded in size and in time, and looked at only when a route asks for it.

use std::time::Duration;

use axum::RequestExt;
use axum::body::{Body, Bytes};
use axum::extract::{FromRequest, Request};
use serde::Deserialize;

use crate::error::ApiError;

/// A body that takes longer than this is an attack or a lost cause.
const READ_TIMEOUT: Duration = Duration::from_secs(10);

/// A body that has been read, or the reason why not. Routes look at it after the credential, because that is
/// the order in which a caller expects to hear of mistakes.
#[derive(Debug)]
pub struct TrackingBody(Result<Bytes, ApiError>);

impl TrackingBody {
    /// The bytes, for a request type to be parsed from with [`parse`].
    pub fn bytes(self) -> Result<Bytes, ApiError> {
        self.0
    }
}

impl<S: Sync> FromRequest<S> for TrackingBody {
    type Rejection = std::convert::Infallible;

    async fn from_request(request: Request, _: &S) -> Result<Self, Self::Rejection> {
        Ok(Self(read(request.into_limited_body()).await))
    }
}

/// The limit itself is the server's setting (`BODY_LIMIT_BYTES`), 64 KiB by default.
async fn read(body: Body) -> Result<Bytes, ApiError> {
    tokio::time::timeout(READ_TIMEOUT, axum::body::to_bytes(body, usize::MAX))
        .await
        .map_err(|_| ApiError::BodyTooSlow)?
        .map_err(|_| ApiError::BodyTooLarge)
}

/// Parses a JSON object. Whatever Content-Type says: beacons send JSON as plain text.
pub fn parse<'a, T: Deserialize<'a>>(bytes: &'a [u8]) -> Result<T, ApiError> {
    // An array would be taken for the fields of T in their order.
    if bytes.trim_ascii_start().first() != Some(&b'{') {
        return Err(malformed());
    }
    serde_json::from_slice(bytes).map_err(|_| malformed())
}

/// The refusal of a body that is no JSON object.
pub fn malformed() -> ApiError {
    ApiError::bad_request("Request body must be a valid JSON object")
}
