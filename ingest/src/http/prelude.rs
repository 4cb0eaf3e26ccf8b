//! Names that nearly every route uses. All other names are imported from their modules.

pub use axum::Json;
pub use axum::extract::State;
pub use axum::http::StatusCode;
pub use axum::response::{IntoResponse, Response};
pub use chrono::{DateTime, Utc};
pub use domain::ids::*;
pub use messages::instant::{as_instant, as_instant_if_any, instant};
pub use serde::{Deserialize, Serialize};
pub use serde_json::{Value, json};
pub use utoipa::ToSchema;

pub use crate::app::App;
pub use crate::http::body::RequestBody;
pub use crate::http::client_address::ClientAddress;
pub use crate::http::endpoint::Endpoint;
pub use crate::http::error::ApiError;
pub use crate::http::field::{Field, if_present, refused};
pub use crate::http::openapi::envelopes::{PlatformError, RateLimited};
pub use crate::http::query::Query;
