//! The one error a route answers with: message, status, envelope and log level stand together here.
//!
//! Two envelopes exist in the contract. The platform envelope is `{data: null, error: {status, name, message,
//! details}}`; the typed one `{error: {code, …}}` is used where clients act on a code.

use std::borrow::Cow;

use axum::Json;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::json;

use crate::rotation;

/// How long a client should wait before it repeats a request that was shed.
const OVERLOADED_RETRY_AFTER_SECONDS: i64 = 1;

#[derive(Debug, thiserror::Error)]
pub enum ApiError {
    /// The request cannot succeed unchanged.
    #[error("{0}")]
    BadRequest(Cow<'static, str>),
    #[error("{0}")]
    Unauthorized(&'static str),
    /// The credential is good, but not for what was asked.
    #[error("{0}")]
    Forbidden(&'static str),
    #[error("{0}")]
    NotFound(&'static str),
    #[error("{0}")]
    Conflict(&'static str),
    /// `replacement` is method and path, as a caller would write them.
    #[error("This endpoint has been retired. Use {replacement} instead.")]
    Retired { replacement: &'static str },
    /// A click on a link that its partner or the brand has turned off.
    #[error("This referral link has been disabled")]
    LinkDisabled,
    #[error("This API key had to be rotated and is no longer accepted.")]
    KeyRetired,
    #[error("Too many requests. Try again in {retry_after_seconds} seconds.")]
    RateLimited { retry_after_seconds: i64 },
    #[error("Method Not Allowed")]
    MethodNotAllowed,
    #[error("Request body is too large")]
    BodyTooLarge,
    #[error("Request body did not arrive in time")]
    BodyTooSlow,
    /// Queues are full: the request was not accepted, and nothing of it is stored.
    #[error("The service is over capacity")]
    Overloaded,
    /// `message` is the contract's; the cause is for the log only.
    #[error("{message}")]
    Internal {
        message: &'static str,
        cause: anyhow::Error,
    },
}

impl ApiError {
    pub fn bad_request(message: impl Into<Cow<'static, str>>) -> Self {
        Self::BadRequest(message.into())
    }

    pub fn internal(message: &'static str, cause: impl Into<anyhow::Error>) -> Self {
        Self::Internal {
            message,
            cause: cause.into(),
        }
    }

    fn status(&self) -> StatusCode {
        match self {
            Self::BadRequest(_) => StatusCode::BAD_REQUEST,
            Self::Unauthorized(_) | Self::KeyRetired => StatusCode::UNAUTHORIZED,
            Self::Forbidden(_) => StatusCode::FORBIDDEN,
            Self::NotFound(_) => StatusCode::NOT_FOUND,
            Self::MethodNotAllowed => StatusCode::METHOD_NOT_ALLOWED,
            Self::Conflict(_) => StatusCode::CONFLICT,
            Self::LinkDisabled | Self::Retired { .. } => StatusCode::GONE,
            Self::RateLimited { .. } => StatusCode::TOO_MANY_REQUESTS,
            Self::BodyTooLarge => StatusCode::PAYLOAD_TOO_LARGE,
            Self::BodyTooSlow => StatusCode::REQUEST_TIMEOUT,
            Self::Overloaded => StatusCode::SERVICE_UNAVAILABLE,
            Self::Internal { .. } => StatusCode::INTERNAL_SERVER_ERROR,
        }
    }

    fn name(&self) -> &'static str {
        match self {
            Self::BadRequest(_) => "BadRequestError",
            Self::Unauthorized(_) | Self::KeyRetired => "UnauthorizedError",
            Self::Forbidden(_) => "ForbiddenError",
            Self::NotFound(_) => "NotFoundError",
            Self::MethodNotAllowed => "MethodNotAllowedError",
            Self::Conflict(_) => "ConflictError",
            Self::LinkDisabled | Self::Retired { .. } => "GoneError",
            Self::RateLimited { .. } => "TooManyRequestsError",
            Self::BodyTooLarge => "PayloadTooLargeError",
            Self::BodyTooSlow => "RequestTimeoutError",
            Self::Overloaded => "ServiceUnavailableError",
            Self::Internal { .. } => "InternalServerError",
        }
    }

    /// A caller's mistake is the caller's business; ours is an error.
    fn log(&self) {
        match self {
            Self::Internal { message, cause } => tracing::error!(error = format!("{cause:#}"), "{message}"),
            Self::Overloaded => tracing::warn!("request shed: queues are full"),
            other => tracing::debug!(status = other.status().as_u16(), "{other}"),
        }
    }

    fn body(&self) -> serde_json::Value {
        let message = self.to_string();
        match self {
            Self::LinkDisabled => json!({
                "success": false,
                "message": message,
                "error": {
                    "code": "link_disabled",
                    "message": message,
                    "hint": "Turn the link back on, or send visitors to another one.",
                },
            }),
            Self::KeyRetired => json!({
                "error": {
                    "code": rotation::CODE,
                    "message": message,
                    "hint": rotation::HINT,
                    "docs_url": rotation::DOCS_URL,
                },
            }),
            Self::RateLimited { retry_after_seconds } => json!({
                "error": {
                    "code": "rate_limited",
                    "status": self.status().as_u16(),
                    "message": message,
                    "retry_after_seconds": retry_after_seconds,
                },
            }),
            _ => json!({
                "data": null,
                "error": {
                    "status": self.status().as_u16(),
                    "name": self.name(),
                    "message": message,
                    "details": {},
                },
            }),
        }
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        self.log();
        let mut response = (self.status(), Json(self.body())).into_response();
        let retry_after_seconds = match self {
            Self::Overloaded => Some(OVERLOADED_RETRY_AFTER_SECONDS),
            Self::RateLimited { retry_after_seconds } => Some(retry_after_seconds),
            _ => None,
        };
        if let Some(seconds) = retry_after_seconds {
            response
                .headers_mut()
                .insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        response
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_platform_envelope_names_status_and_message() {
        assert_eq!(
            ApiError::Conflict("taken").body(),
            json!({"data": null, "error": {"status": 409, "name": "ConflictError", "message": "taken", "details": {}}})
        );
    }

    #[test]
    fn a_disabled_link_answers_in_the_typed_envelope_and_keeps_the_old_fields() {
        let body = ApiError::LinkDisabled.body();
        assert_eq!(body["error"]["code"], "link_disabled");
        assert_eq!(body["success"], false);
        assert_eq!(body["message"], body["error"]["message"]);
        assert!(body.get("data").is_none());
    }

    #[test]
    fn causes_stay_out_of_answers() {
        let error = ApiError::internal("Sale tracking failed", anyhow::anyhow!("password=hunter2"));
        assert!(!error.body().to_string().contains("hunter2"));
    }
}
