//! The schemas of the two error envelopes. [`crate::http::error::ApiError`] answers with them.
#![expect(
    dead_code,
    reason = "described, never built: the error type writes its bodies itself"
)]

use std::collections::BTreeMap;

use utoipa::ToSchema;

/// The platform envelope.
#[derive(ToSchema)]
pub struct PlatformError {
    /// Always null.
    #[schema(value_type = Option<Object>, required = true)]
    data: (),
    error: PlatformErrorBody,
}

#[derive(ToSchema)]
pub struct PlatformErrorBody {
    /// The HTTP status.
    #[schema(minimum = 400, maximum = 599, examples(400))]
    status: u16,
    #[schema(examples("BadRequestError"))]
    name: String,
    message: String,
    /// Usually empty.
    details: BTreeMap<String, serde_json::Value>,
}

/// No usable key: in the platform envelope; or one that was not rotated in time: in the typed one.
#[derive(ToSchema)]
#[schema(no_recursion)]
#[serde(untagged)]
pub enum Unauthorized {
    Unusable(PlatformError),
    Retired(KeyRetired),
}

#[derive(ToSchema)]
pub struct KeyRetired {
    error: KeyRetiredBody,
}

#[derive(ToSchema)]
pub struct KeyRetiredBody {
    #[schema(pattern = "^api_key_rotation_required$")]
    code: String,
    message: String,
    hint: String,
    docs_url: String,
}

#[derive(ToSchema)]
pub struct RateLimited {
    error: RateLimitedBody,
}

#[derive(ToSchema)]
pub struct RateLimitedBody {
    #[schema(pattern = "^rate_limited$")]
    code: String,
    #[schema(minimum = 429, maximum = 429)]
    status: u16,
    message: String,
    /// The same as in `Retry-After`: at most a minute, for test chains an hour.
    #[schema(minimum = 1, maximum = 3600)]
    retry_after_seconds: i64,
}

/// `success` and `message` are there for clients that know no envelope.
#[derive(ToSchema)]
pub struct LinkDisabled {
    success: bool,
    message: String,
    error: LinkDisabledBody,
}

#[derive(ToSchema)]
pub struct LinkDisabledBody {
    #[schema(pattern = "^link_disabled$")]
    code: String,
    message: String,
    hint: String,
}

/// Added to any JSON answer to a key that is marked for rotation, and absent otherwise.
#[derive(ToSchema)]
pub struct RotationNotice {
    #[schema(required = false)]
    warnings: Vec<RotationWarning>,
}

#[derive(ToSchema)]
pub struct RotationWarning {
    #[schema(pattern = "^api_key_rotation_required$")]
    code: String,
    message: String,
    hint: String,
    /// ISO 8601 in UTC: the key works until then.
    #[schema(format = DateTime)]
    rotate_by: String,
    docs_url: String,
}

/// Readiness: no usable key, or one that was not rotated in time.
#[derive(ToSchema)]
#[schema(no_recursion)]
#[serde(untagged)]
pub enum ReadinessUnauthorized {
    Unusable(InvalidKey),
    Retired(KeyRetired),
}

#[derive(ToSchema)]
pub struct InvalidKey {
    error: InvalidKeyBody,
}

#[derive(ToSchema)]
pub struct InvalidKeyBody {
    #[schema(pattern = "^invalid_key$")]
    code: String,
    message: String,
}

#[derive(ToSchema)]
pub struct ReadinessFailed {
    error: ReadinessFailedBody,
}

#[derive(ToSchema)]
pub struct ReadinessFailedBody {
    #[schema(pattern = "^internal_error$")]
    code: String,
    message: String,
    /// The same as in `Retry-After`.
    #[schema(minimum = 1)]
    retry_after_seconds: i64,
}
