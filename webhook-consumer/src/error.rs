//! Error answers of webhooks: each error's message, status and log level in one place, in the platform
//! envelope.
//!
//! The sender retries after every answer except 2xx, for days. So errors that a retry may fix are 5xx, and
//! all others are 4xx. A verified event is never rejected, because it is interpreted after the answer.

use axum::Json;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use runtime::body::BodyError;
use runtime::platform_error::platform_error;
use serde_json::json;

use crate::stripe::event::NotAnEvent;
use crate::stripe::signature::SignatureError;

/// Seconds in `Retry-After` for an event that was shed or not stored.
const RETRY_AFTER_SECONDS: &str = "5";

#[derive(Debug, thiserror::Error)]
pub enum Refusal {
    #[error(transparent)]
    Signature(#[from] SignatureError),
    #[error(transparent)]
    NotAnEvent(#[from] NotAnEvent),
    #[error(transparent)]
    Body(#[from] BodyError),
    #[error("Not Found")]
    NotFound,
    #[error("Method Not Allowed")]
    MethodNotAllowed,
    /// The queues are full; nothing was stored.
    #[error("The service is over capacity")]
    Overloaded,
    /// The event may have been stored or not; a second delivery has no effect. The cause is only for the log.
    #[error("The event could not be stored. Send it again.")]
    Unavailable(#[source] anyhow::Error),
}

impl Refusal {
    pub fn unavailable(cause: impl Into<anyhow::Error>) -> Self {
        Self::Unavailable(cause.into())
    }

    fn status(&self) -> StatusCode {
        match self {
            Self::Signature(_) | Self::NotAnEvent(_) => StatusCode::BAD_REQUEST,
            Self::Body(error) => error.status(),
            Self::NotFound => StatusCode::NOT_FOUND,
            Self::MethodNotAllowed => StatusCode::METHOD_NOT_ALLOWED,
            Self::Overloaded | Self::Unavailable(_) => StatusCode::SERVICE_UNAVAILABLE,
        }
    }

    fn log(&self) {
        match self {
            Self::Unavailable(cause) => tracing::error!(error = format!("{cause:#}"), "{self}"),
            Self::Overloaded => tracing::debug!("event shed"),
            // Anyone can cause these errors, so they have the debug level. The sender sees a wrong secret in
            // the answer.
            other => tracing::debug!(status = other.status().as_u16(), "{other}"),
        }
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        self.log();
        let status = self.status();
        let body = Json(platform_error(status, &self.to_string(), &json!({})));
        if status == StatusCode::SERVICE_UNAVAILABLE {
            return (status, [(header::RETRY_AFTER, RETRY_AFTER_SECONDS)], body).into_response();
        }
        (status, body).into_response()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn causes_stay_out_of_answers() {
        let refusal = Refusal::unavailable(anyhow::anyhow!("password=hunter2"));
        assert!(!refusal.to_string().contains("hunter2"));
        assert_eq!(refusal.status(), StatusCode::SERVICE_UNAVAILABLE);
    }
}
