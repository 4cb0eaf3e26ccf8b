//! `POST /api/tracking/lead`: a lead whose fields have their older names.

use axum::extract::State;
use axum::{Extension, Json};
use serde::{Deserialize, Serialize};
use serde_json::json;
use utoipa::ToSchema;

use crate::app::App;
use crate::http::body::{RequestBody, parse};
use crate::http::client_address::ClientAddress;
use crate::http::error::ApiError;
use crate::http::field::{Field, Key};
use crate::http::openapi::envelopes::PlatformError;
use crate::http::openapi::examples::Examples;
use crate::tracking::caller::Caller;
use crate::tracking::lead::{FAILED, LeadAnswer, LeadRequest, customer_key_schema, track, tracked};
use crate::tracking::test_mode::{AdditionalData, AdditionalFields, OTHER_PROGRAM};

#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = OlderLeadRequest)]
struct LegacyLeadRequest {
    /// The click_id, by the name of the cookie it was kept in.
    #[schema(value_type = Option<String>, max_length = 255)]
    customer_code: Field<String>,
    /// The customer_key.
    #[schema(schema_with = customer_key_schema, required = false)]
    user_id: Field<Key>,
    #[schema(value_type = Option<String>, max_length = 320, examples("jane@shop.example"))]
    email: Field<String>,
    #[schema(value_type = Option<String>, max_length = 255, examples("signup"))]
    event_name: Field<String>,
    #[schema(value_type = Option<AdditionalFields>)]
    additional_data: AdditionalData,
}

#[derive(Debug, Serialize, ToSchema)]
#[schema(as = OlderLeadAnswer)]
pub struct LegacyLeadAnswer {
    #[serde(flatten)]
    answer: LeadAnswer,
    /// As sent; null without one.
    #[schema(required = true)]
    customer_code: Option<String>,
}

/// Record a lead, by its older names
///
/// Use `POST /api/v1/track/lead` instead, with `click_id` and `customer_key`.
#[utoipa::path(
    post,
    path = "/api/tracking/lead",
    security((), ("program_key" = [])),
    request_body = LegacyLeadRequest,
    responses(
        (status = 200, description = "Recorded.", body = LegacyLeadAnswer),
        (status = 403, description = "Test mode: the key is of another program.", body = PlatformError),
    )
)]
pub async fn older_lead(
    State(app): State<App>,
    caller: Caller,
    client: Option<Extension<ClientAddress>>,
    body: RequestBody,
) -> Result<Json<LegacyLeadAnswer>, ApiError> {
    let legacy = body.bytes().and_then(|bytes| parse::<LegacyLeadRequest>(&bytes));
    let customer_code = match &legacy {
        Ok(LegacyLeadRequest {
            customer_code: Field::Given(customer_code),
            ..
        }) => Some(customer_code.clone()),
        _ => None,
    };
    let client = client.map(|Extension(client)| client);
    let answer = track(&app, caller, client, legacy.map(LeadRequest::from)).await?;
    Ok(Json(LegacyLeadAnswer {
        answer,
        customer_code,
    }))
}

impl From<LegacyLeadRequest> for LeadRequest {
    fn from(legacy: LegacyLeadRequest) -> Self {
        Self {
            click_id: legacy.customer_code,
            customer_key: legacy.user_id,
            email: legacy.email,
            event_name: legacy.event_name,
            additional_data: legacy.additional_data,
        }
    }
}
pub fn examples() -> Examples {
    let customer_code = "cust_7204319856127340_1798796400000".to_owned();
    let body = json!({ "customer_code": customer_code, "user_id": "user-42", "email": "jane@shop.example" });
    let answer = LegacyLeadAnswer {
        answer: tracked(false),
        customer_code: Some(customer_code),
    };
    Examples::default()
        .request("From a browser", body)
        .answer("Recorded", answer)
        .refusal(&ApiError::Forbidden(OTHER_PROGRAM))
        .refusal(&ApiError::internal(FAILED, anyhow::Error::msg("an example")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_example_is_a_request_of_its_path() {
        for body in examples().requests() {
            assert!(matches!(
                parse::<LegacyLeadRequest>(&body).unwrap().user_id,
                Field::Given(_)
            ));
        }
    }
}
