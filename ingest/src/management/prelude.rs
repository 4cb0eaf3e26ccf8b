//! Names that nearly every management route uses. All other names are imported from their modules.

pub use axum::extract::State;
pub use serde::{Deserialize, Serialize};
pub use utoipa::ToSchema;

pub use crate::app::App;
pub use crate::http::error::ApiError;
pub use crate::http::openapi::envelopes::PlatformError;
pub use crate::management::answers::{Answer, Data, data};
