//! The error type of all routes. It defines message, status, envelope and log level in one place.
//!
//! The contract has two envelopes. The platform envelope is `{data: null, error: {status, name, message,
//! details}}`. The typed envelope `{error: {code, …}}` is for routes whose clients act on a code.

use std::borrow::Cow;

use axum::Json;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use runtime::body::BodyError;
use runtime::platform_error::platform_error;
use serde::{Serialize, Serializer};
use serde_json::{Value, json};
use storage::{Retryable, StorageError};

use crate::http::request_id::RequestId;
use crate::http::rotation;

/// Seconds that a client should wait before it repeats a request that was shed or found no database.
const OVERLOADED_RETRY_AFTER_SECONDS: i64 = 1;
/// Seconds that a client should wait before it asks for readiness again after a failure.
const READINESS_RETRY_AFTER_SECONDS: i64 = 5;

#[derive(Debug, thiserror::Error)]
pub enum ApiError {
    /// The request cannot succeed unchanged.
    #[error("{0}")]
    BadRequest(Cow<'static, str>),
    /// Like `BadRequest`; the envelope's `details` name the part of the request that is wrong.
    #[error("{message}")]
    BadParts { message: &'static str, details: Value },
    #[error("{0}")]
    Unauthorized(&'static str),
    /// The credential is valid, but does not allow this request.
    #[error("{0}")]
    Forbidden(&'static str),
    /// The credential is valid, but its owner is suspended.
    #[error("Your account has been suspended")]
    AccountBlocked,
    /// The session is valid, but its user has not entered the password within the last half hour.
    #[error("Confirm your password first")]
    PasswordRequired,
    /// The password is right, but the account also has a second factor.
    #[error("A code of your authenticator app is required")]
    SecondFactorRequired,
    /// The account's only factor is a passkey, and the session has not confirmed with one.
    #[error("Confirm with one of your passkeys first")]
    PasskeyRequired,
    /// The session is valid, but a workspace of its user requires a second factor that the user has not set
    /// up.
    #[error("Your workspace requires a second factor: set it up first")]
    SecondFactorMissing,
    #[error("{0}")]
    NotFound(&'static str),
    #[error("{0}")]
    Conflict(&'static str),
    /// The requested thing no longer exists.
    #[error("{0}")]
    Gone(&'static str),
    /// `replacement` is method and path, as a caller would write them.
    #[error("This endpoint has been retired. Use {replacement} instead.")]
    Retired { replacement: &'static str },
    /// A click on a link that its partner or the brand has turned off.
    #[error("This referral link has been disabled")]
    LinkDisabled,
    #[error("This API key had to be rotated and is no longer accepted.")]
    KeyRetired,
    /// Readiness: no key, an unreadable key, or an unknown key.
    #[error("Invalid API key")]
    InvalidKey,
    #[error("Too many requests. Try again in {retry_after_seconds} seconds.")]
    RateLimited { retry_after_seconds: i64 },
    #[error("Method Not Allowed")]
    MethodNotAllowed,
    #[error("Request body is too large")]
    BodyTooLarge,
    #[error("Request body did not arrive in time")]
    BodyTooSlow,
    /// The queues are full. The request was not accepted, and nothing of it is stored.
    #[error("The service is over capacity")]
    Overloaded,
    /// PostgreSQL gave no connection, or broke the request's connection: nothing of the request is stored.
    #[error("The database cannot be reached")]
    Unavailable(StorageError),
    /// `message` is the contract's; the cause is for the log only.
    #[error("{message}")]
    Internal {
        message: &'static str,
        cause: anyhow::Error,
    },
    /// Like `Internal`, for the CLI. The message ends with the request's id, because users of the CLI quote
    /// messages.
    #[error("{message}. Request ID: {request_id}")]
    InternalQuoted {
        message: &'static str,
        request_id: String,
        cause: anyhow::Error,
    },
    #[error("Readiness could not be determined")]
    ReadinessFailed(anyhow::Error),
}

impl ApiError {
    pub fn bad_request(message: impl Into<Cow<'static, str>>) -> Self {
        Self::BadRequest(message.into())
    }

    /// An example for descriptions.
    pub const LIMITED: Self = Self::RateLimited {
        retry_after_seconds: 21,
    };

    /// An example for descriptions: an internal error with the id of its request.
    pub fn quoted_example(message: &'static str) -> Self {
        Self::InternalQuoted {
            message,
            request_id: "019ab2c3d4e57f60a1b2c3d4e5f60718".to_owned(),
            cause: anyhow::Error::msg("an example"),
        }
    }

    /// [`Self::bad_request`] for constants.
    pub const fn refusal(message: &'static str) -> Self {
        Self::BadRequest(Cow::Borrowed(message))
    }

    pub fn internal(message: &'static str, cause: impl Into<anyhow::Error>) -> Self {
        Self::Internal {
            message,
            cause: cause.into(),
        }
    }

    /// An internal error on a route for which the contract has no message of its own.
    pub fn unexpected(cause: impl Into<anyhow::Error>) -> Self {
        Self::internal("Internal Server Error", cause)
    }

    /// Adds the request id to an internal error; other errors stay as they are.
    #[must_use]
    pub fn quoting(self, request_id: &RequestId) -> Self {
        match self {
            Self::Internal { message, cause } => Self::InternalQuoted {
                message,
                request_id: request_id.0.to_str().unwrap_or_default().to_owned(),
                cause,
            },
            other => other,
        }
    }

    pub fn status(&self) -> StatusCode {
        match self {
            Self::BadRequest(_) | Self::BadParts { .. } => StatusCode::BAD_REQUEST,
            Self::Unauthorized(_) | Self::KeyRetired | Self::InvalidKey => StatusCode::UNAUTHORIZED,
            Self::Forbidden(_)
            | Self::AccountBlocked
            | Self::PasswordRequired
            | Self::PasskeyRequired
            | Self::SecondFactorRequired
            | Self::SecondFactorMissing => StatusCode::FORBIDDEN,
            Self::NotFound(_) => StatusCode::NOT_FOUND,
            Self::MethodNotAllowed => StatusCode::METHOD_NOT_ALLOWED,
            Self::Conflict(_) => StatusCode::CONFLICT,
            Self::LinkDisabled | Self::Gone(_) | Self::Retired { .. } => StatusCode::GONE,
            Self::RateLimited { .. } => StatusCode::TOO_MANY_REQUESTS,
            Self::BodyTooLarge => StatusCode::PAYLOAD_TOO_LARGE,
            Self::BodyTooSlow => StatusCode::REQUEST_TIMEOUT,
            Self::Overloaded | Self::Unavailable(_) => StatusCode::SERVICE_UNAVAILABLE,
            Self::Internal { .. } | Self::InternalQuoted { .. } | Self::ReadinessFailed(_) => {
                StatusCode::INTERNAL_SERVER_ERROR
            }
        }
    }

    /// Logs a failure of the service at level error, and a mistake of the caller at level debug.
    pub fn log(&self) {
        match self {
            Self::Internal { cause, .. }
            | Self::InternalQuoted { cause, .. }
            | Self::ReadinessFailed(cause) => {
                tracing::error!(error = format!("{cause:#}"), "{self}");
            }
            Self::Unavailable(cause) => tracing::error!(error = %cause, "{self}"),
            other => tracing::debug!(status = other.status().as_u16(), "{other}"),
        }
    }

    pub fn body(&self) -> Value {
        let message = self.to_string();
        match self {
            Self::LinkDisabled => json!({
                "success": false,
                "message": message,
                "error": {
                    "code": "link_disabled",
                    "message": message,
                    "hint": "Turn the link, its partner or its program back on, or send visitors to another link.",
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
            Self::InvalidKey => json!({ "error": { "code": "invalid_key", "message": message } }),
            Self::ReadinessFailed(_) => json!({
                "error": {
                    "code": "internal_error",
                    "message": message,
                    "retry_after_seconds": READINESS_RETRY_AFTER_SECONDS,
                },
            }),
            _ => platform_error(self.status(), &message, &self.details()),
        }
    }

    fn details(&self) -> Value {
        match self {
            Self::InternalQuoted { request_id, .. } => json!({ "request_id": request_id }),
            Self::AccountBlocked => json!({ "code": "ACCOUNT_BLOCKED" }),
            Self::PasswordRequired => json!({ "code": "PASSWORD_REQUIRED" }),
            Self::PasskeyRequired => json!({ "code": "PASSKEY_REQUIRED" }),
            Self::SecondFactorRequired => json!({ "code": "SECOND_FACTOR_REQUIRED" }),
            Self::SecondFactorMissing => json!({ "code": "SECOND_FACTOR_MISSING" }),
            Self::BadParts { details, .. } => details.clone(),
            _ => json!({}),
        }
    }
}

/// As the body of an answer, for lists of examples.
impl Serialize for ApiError {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.body().serialize(serializer)
    }
}

impl From<BodyError> for ApiError {
    fn from(error: BodyError) -> Self {
        match error {
            BodyError::TooLarge => Self::BodyTooLarge,
            BodyError::TooSlow => Self::BodyTooSlow,
            BodyError::Broken => Self::bad_request(error.to_string()),
        }
    }
}

impl From<StorageError> for ApiError {
    fn from(error: StorageError) -> Self {
        if error.retryable() == Retryable::AfterOutage {
            Self::Unavailable(error)
        } else {
            Self::unexpected(error)
        }
    }
}

impl From<sqlx::Error> for ApiError {
    fn from(error: sqlx::Error) -> Self {
        StorageError::from(error).into()
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        self.log();
        let mut response = (self.status(), Json(self.body())).into_response();
        let retry_after_seconds = match self {
            Self::Overloaded | Self::Unavailable(_) => Some(OVERLOADED_RETRY_AFTER_SECONDS),
            Self::RateLimited { retry_after_seconds } => Some(retry_after_seconds),
            Self::ReadinessFailed(_) => Some(READINESS_RETRY_AFTER_SECONDS),
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

pub async fn method_not_allowed() -> Response {
    ApiError::MethodNotAllowed.into_response()
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
    fn the_typed_envelope_has_a_code_and_no_data() {
        for (error, code) in [
            (ApiError::LinkDisabled, "link_disabled"),
            (ApiError::InvalidKey, "invalid_key"),
            (
                ApiError::ReadinessFailed(anyhow::anyhow!("why")),
                "internal_error",
            ),
        ] {
            let body = error.body();
            assert_eq!(body["error"]["code"], code);
            assert!(body.get("data").is_none(), "{body}");
        }
        let link = ApiError::LinkDisabled.body();
        assert_eq!(
            link["success"], false,
            "as clients without the envelope expect it"
        );
        assert_eq!(link["message"], link["error"]["message"]);
    }

    #[test]
    fn causes_stay_out_of_answers() {
        let error = ApiError::internal("Sale tracking failed", anyhow::anyhow!("password=hunter2"));
        assert!(!error.body().to_string().contains("hunter2"));
    }

    #[test]
    fn a_failure_of_the_cli_quotes_its_request_in_message_and_details() {
        let request_id = RequestId(HeaderValue::from_static("r-1"));
        let body = ApiError::internal("Test event failed", anyhow::anyhow!("why"))
            .quoting(&request_id)
            .body();
        assert_eq!(body["error"]["message"], "Test event failed. Request ID: r-1");
        assert_eq!(body["error"]["details"], json!({ "request_id": "r-1" }));
        assert_eq!(
            ApiError::Forbidden("no").quoting(&request_id).body()["error"]["details"],
            json!({})
        );
    }
}
