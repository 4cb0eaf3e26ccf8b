//! `additional_data` of the tracking bodies.

use serde::Deserialize;
use utoipa::ToSchema;

use crate::error::ApiError;
use crate::field::Field;

#[derive(Debug, Deserialize, ToSchema)]
pub struct AdditionalData {
    /// Not supported yet: `true` is refused, so that a test never becomes a real event.
    #[schema(value_type = Option<bool>)]
    test_mode: Field<bool>,
    /// Text on a lead; not looked at elsewhere.
    #[schema(value_type = serde_json::Value, required = false)]
    pub event_name: Field<String>,
}

impl AdditionalData {
    /// Isolated test events are not recorded by this version. A test must never become a real event, so a
    /// request that asks for one is refused.
    pub fn refuse_test_mode(self) -> Result<(), ApiError> {
        if self.test_mode.flag("additional_data.test_mode")? {
            return Err(ApiError::bad_request(
                "additional_data.test_mode is not supported yet",
            ));
        }
        Ok(())
    }
}
