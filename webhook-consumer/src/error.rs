//! The one error a webhook is answered with: message, status and log level stand together here, in the platform envelope.
//!
//! The sender delivers again whatever is not a 2xx, for days. So what may succeed later is ours (5xx), what never will is
//! the sender's (4xx), and an event that is believed is never refused: what it means is found out behind the answer.

use axum::Json;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use runtime::body::BodyError;
use runtime::platform_error::platform_error;
use serde_json::json;

use crate::stripe::event::NotAnEvent;
use crate::stripe::signature::SignatureError;

/// When to send an event again that could not be taken.
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
    /// Queues are full: nothing of the event is stored.
    #[error("The service is over capacity")]
    Overloaded,
    /// Whether the event is stored is unknown; a second delivery does no harm. The cause is for the log only.
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
            // Anybody can make these; a secret that went wrong shows at the sender, too.
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
