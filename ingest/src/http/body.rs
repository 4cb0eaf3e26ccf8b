//! A request's body: read within bounds, and looked at only when a route asks for it.

use axum::body::Bytes;
use axum::extract::{FromRequest, Request};
use runtime::body::read;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::app::App;
use crate::http::error::ApiError;

/// A body that has been read, or the reason why not. Routes look at it after the credential, because that is
/// the order in which a caller expects mistakes to be reported.
#[derive(Debug)]
pub struct RequestBody(Result<Bytes, ApiError>);

impl Default for RequestBody {
    fn default() -> Self {
        Self(Ok(Bytes::new()))
    }
}

impl RequestBody {
    /// The bytes, for a request type to be parsed from with [`parse`].
    pub fn bytes(self) -> Result<Bytes, ApiError> {
        self.0
    }

    /// The body, which is empty from then on.
    pub const fn take(&mut self) -> Self {
        std::mem::replace(self, Self(Ok(Bytes::new())))
    }

    /// [`parse`], for a request type that owns what it holds.
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

/// Parses a JSON object of any Content-Type: beacons send JSON as plain text.
pub fn parse<'a, T: Deserialize<'a>>(bytes: &'a [u8]) -> Result<T, ApiError> {
    // All of it, not only the fields that are used.
    let text = std::str::from_utf8(bytes).map_err(|_| malformed())?;
    // An array would be taken for the fields of T in their order.
    if !text.trim_ascii_start().starts_with('{') {
        return Err(malformed());
    }
    serde_json::from_str(text).map_err(|_| malformed())
}

/// The refusal of a body that is no JSON object.
pub fn malformed() -> ApiError {
    ApiError::bad_request("Request body must be a valid JSON object")
}
