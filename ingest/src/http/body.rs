//! A request's body, read within its size limit. A route looks at it when it needs it.

use axum::body::Bytes;
use axum::extract::{FromRequest, Request};
use runtime::body::read;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::app::App;
use crate::http::error::ApiError;

/// The body, or the reason why reading it failed. Routes report a bad credential first, so they look at the
/// body after the credential.
#[derive(Debug)]
pub struct RequestBody(Result<Bytes, ApiError>);

impl Default for RequestBody {
    fn default() -> Self {
        Self(Ok(Bytes::new()))
    }
}

impl RequestBody {
    /// The bytes, for [`parse`] to read a request type from.
    pub fn bytes(self) -> Result<Bytes, ApiError> {
        self.0
    }

    pub const fn take(&mut self) -> Self {
        std::mem::replace(self, Self(Ok(Bytes::new())))
    }

    /// Like [`parse`], for a request type that owns its data.
    pub fn json<T: DeserializeOwned>(self) -> Result<T, ApiError> {
        parse(&self.0?)
    }
}

impl FromRequest<App> for RequestBody {
    type Rejection = std::convert::Infallible;

    async fn from_request(request: Request, app: &App) -> Result<Self, Self::Rejection> {
        let body = read(request, app.body_limit_bytes).await;
        Ok(Self(body.map_err(ApiError::from)))
    }
}

/// Parses a JSON object whatever the Content-Type: beacons send JSON as plain text.
pub fn parse<'a, T: Deserialize<'a>>(bytes: &'a [u8]) -> Result<T, ApiError> {
    // The whole body must be UTF-8, not only the fields that are used.
    let text = std::str::from_utf8(bytes).map_err(|_| malformed())?;
    // serde would read an array as the fields of T in order.
    if !text.trim_ascii_start().starts_with('{') {
        return Err(malformed());
    }
    serde_json::from_str(text).map_err(|_| malformed())
}

pub fn malformed() -> ApiError {
    ApiError::bad_request("Request body must be a valid JSON object")
}
