//! Announces to callers that their key must be rotated: three headers, and `warnings` in the JSON of the
//! answer.

use axum::body::Body;
use axum::http::{HeaderValue, header};
use axum::response::Response;
use domain::programs::key_rotation::KeyRotation;
use messages::instant::instant;
use serde_json::{Map, Value, json};

pub const CODE: &str = "api_key_rotation_required";
pub const HINT: &str = "Regenerate the program's tracking token in the dashboard and deploy the new one.";
pub const DOCS_URL: &str = "/docs#key-rotation";
/// Answers of these routes are small. A larger answer gets no warning in its body.
const MAX_BODY_BYTES: usize = 1 << 20;

/// Adds the announcement to an answer of any status. Nothing in the answer is removed or renamed.
pub async fn announce(rotation: &KeyRotation, response: Response) -> Response {
    let (mut parts, body) = response.into_parts();
    let headers = [
        ("deprecation", format!("@{}", rotation.marked_at.timestamp())),
        (
            "sunset",
            rotation.rotate_by.format("%a, %d %b %Y %H:%M:%S GMT").to_string(),
        ),
        ("link", format!("<{DOCS_URL}>; rel=\"deprecation\"")),
    ];
    for (name, value) in headers {
        if let Ok(value) = HeaderValue::from_str(&value) {
            parts.headers.insert(name, value);
        }
    }
    let Ok(bytes) = axum::body::to_bytes(body, MAX_BODY_BYTES).await else {
        return Response::from_parts(parts, Body::empty());
    };
    let body = match serde_json::from_slice::<Map<String, Value>>(&bytes) {
        Ok(mut answer) => {
            answer.insert("warnings".to_owned(), json!([warning(rotation)]));
            Body::from(Value::Object(answer).to_string())
        }
        // Only a JSON object can hold a warning.
        Err(_) => Body::from(bytes),
    };
    parts.headers.remove(header::CONTENT_LENGTH);
    Response::from_parts(parts, body)
}

fn warning(rotation: &KeyRotation) -> Value {
    let rotate_by = instant(rotation.rotate_by);
    json!({
        "code": CODE,
        "message": format!("This API key must be rotated by {rotate_by}."),
        "hint": HINT,
        "rotate_by": rotate_by,
        "docs_url": DOCS_URL,
    })
}

#[cfg(test)]
mod tests {
    use axum::Json;
    use axum::response::IntoResponse;
    use chrono::{TimeZone, Utc};

    use super::*;

    #[tokio::test]
    async fn an_answer_keeps_everything_and_gains_headers_and_warnings() {
        let rotation = KeyRotation {
            marked_at: Utc.with_ymd_and_hms(2026, 11, 1, 0, 0, 0).unwrap(),
            rotate_by: Utc.with_ymd_and_hms(2026, 12, 1, 9, 30, 0).unwrap(),
        };
        let response = announce(&rotation, Json(json!({"success": true})).into_response()).await;
        assert_eq!(response.headers()["deprecation"], "@1793491200");
        assert_eq!(response.headers()["sunset"], "Tue, 01 Dec 2026 09:30:00 GMT");
        let bytes = axum::body::to_bytes(response.into_body(), 4096).await.unwrap();
        let body: Value = serde_json::from_slice(&bytes).unwrap();
        assert_eq!(body["success"], true);
        assert_eq!(body["warnings"][0]["code"], CODE);
        assert_eq!(body["warnings"][0]["rotate_by"], "2026-12-01T09:30:00.000Z");
    }
}
