//! Names that nearly every route uses. All other names are imported from their modules.

pub use std::collections::{BTreeMap, BTreeSet, HashMap};
pub use std::sync::Arc;
pub use std::time::Duration;

pub use axum::Json;
pub use axum::extract::{FromRequestParts, State};
pub use axum::http::request::Parts;
pub use axum::http::{HeaderMap, StatusCode, header};
pub use axum::response::{IntoResponse, Response};
pub use chrono::{DateTime, TimeDelta, Utc};
pub use domain::ids::*;
pub use domain::money::{Cents, Currency};
pub use domain::people::account::EmailAddress;
pub use domain::text::{Label, Text};
pub use domain::tracking::click_id::ClickId;
pub use messages::instant::{as_instant, as_instant_if_any, instant};
pub use runtime::clock::Clock;
pub use runtime::lifecycle::Lifecycle;
pub use serde::{Deserialize, Serialize};
pub use serde_json::{Map, Value, json};
pub use utoipa::ToSchema;

pub use crate::app::App;
pub use crate::http::body::RequestBody;
pub use crate::http::client_address::ClientAddress;
pub use crate::http::endpoint::Endpoint;
pub use crate::http::error::ApiError;
pub use crate::http::field::{Field, if_present, refused};
pub use crate::http::openapi::envelopes::{PlatformError, RateLimited};
pub use crate::http::openapi::examples::Examples;
pub use crate::http::query::Query;
pub use crate::http::request_id::RequestId;
