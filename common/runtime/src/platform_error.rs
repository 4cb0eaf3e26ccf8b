//! The error envelope of every service.

use axum::http::StatusCode;
use serde_json::{Value, json};

/// `{data: null, error: {status, name, message, details}}`. `details` is an object.
pub fn platform_error(status: StatusCode, message: &str, details: &Value) -> Value {
    json!({
        "data": null,
        "error": {
            "status": status.as_u16(),
            "name": name(status),
            "message": message,
            "details": details,
        },
    })
}

fn name(status: StatusCode) -> &'static str {
    match status {
        StatusCode::BAD_REQUEST => "BadRequestError",
        StatusCode::UNAUTHORIZED => "UnauthorizedError",
        StatusCode::FORBIDDEN => "ForbiddenError",
        StatusCode::NOT_FOUND => "NotFoundError",
        StatusCode::METHOD_NOT_ALLOWED => "MethodNotAllowedError",
        StatusCode::REQUEST_TIMEOUT => "RequestTimeoutError",
        StatusCode::CONFLICT => "ConflictError",
        StatusCode::GONE => "GoneError",
        StatusCode::PAYLOAD_TOO_LARGE => "PayloadTooLargeError",
        StatusCode::TOO_MANY_REQUESTS => "TooManyRequestsError",
        StatusCode::SERVICE_UNAVAILABLE => "ServiceUnavailableError",
        _ => "InternalServerError",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_envelope_names_status_and_message() {
        assert_eq!(
            platform_error(StatusCode::CONFLICT, "taken", &json!({ "code": "x" })),
            json!({"data": null, "error": {"status": 409, "name": "ConflictError", "message": "taken", "details": {"code": "x"}}})
        );
    }
}
