//! `POST /api/v1/track/lead`: a visitor signed up.

use axum::Json;
use axum::extract::State;
use common::domain::click_id::ClickId;
use common::domain::ids::EventId;
use common::domain::lead::{Lead, LeadMode, LeadRefusal};
use common::domain::text::Text;
use common::messages::lead::{LeadOutcome, LeadRecord};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::app::App;
use crate::body::{TrackingBody, parse};
use crate::caller::Caller;
use crate::email::EmailHasher;
use crate::error::ApiError;
use crate::field::{Field, object, refused};
use crate::pipeline::encode;
use crate::routes::test_mode::AdditionalData;

const FAILED: &str = "Lead tracking failed";

/// At least one of `click_id` and `customer_key` names the customer; both together bind them to each other.
#[derive(Debug, Deserialize, ToSchema)]
pub struct LeadRequest {
    /// The answer to the visitor's click.
    #[schema(value_type = Option<String>, max_length = 255)]
    click_id: Field<String>,
    /// The advertiser's own stable id of the user.
    #[schema(value_type = Option<String>, max_length = 255, examples("user-42"))]
    customer_key: Field<String>,
    /// Stored as a keyed hash only.
    #[schema(value_type = Option<String>, max_length = 320, examples("jane@shop.example"))]
    email: Field<String>,
    #[schema(value_type = Option<String>, max_length = 255, examples("signup"))]
    event_name: Field<String>,
    #[serde(default, deserialize_with = "object")]
    additional_data: Option<AdditionalData>,
}

#[derive(Debug, Serialize, ToSchema)]
pub struct LeadAnswer {
    success: bool,
    /// Present and true when the program waits for its backend, or for a payment, to confirm the lead.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    provisional: bool,
    message: &'static str,
}

/// Record a lead
///
/// A visitor signed up. With the program's key this is the backend's word; without, a browser's.
#[utoipa::path(
    post,
    path = "/api/v1/track/lead",
    tag = "tracking",
    security((), ("program_key" = [])),
    request_body = LeadRequest,
    responses((status = 200, description = "Recorded.", body = LeadAnswer))
)]
pub async fn lead(
    State(app): State<App>,
    caller: Caller,
    body: TrackingBody,
) -> Result<Json<LeadAnswer>, ApiError> {
    let mode = mode(caller)?;
    let bytes = body.bytes()?;
    let lead = parse::<LeadRequest>(&bytes)?.validate(mode, &app.email_hasher)?;
    let record = LeadRecord {
        event_id: EventId::new(app.clock.mint()),
        led_at: app.clock.now(),
        lead,
    };
    let encoded = encode(&record, FAILED)?;
    let outcome = app
        .pipeline
        .ask(&app.pipeline.leads, record.event_id, encoded, FAILED)
        .await?;
    answer(outcome)
}

/// No usable bearer token means the visitor's browser; one that matches no program is a mistake.
fn mode(caller: Caller) -> Result<LeadMode, ApiError> {
    match caller {
        Caller::Anonymous | Caller::EmptyToken => Ok(LeadMode::Browser),
        Caller::Unknown => Err(ApiError::Unauthorized("Invalid API token")),
        Caller::Program(program_id) => Ok(LeadMode::Server { program_id }),
        Caller::Undecided(unavailable) => Err(ApiError::internal(FAILED, unavailable)),
    }
}

impl LeadRequest {
    fn validate(self, mode: LeadMode, email_hasher: &EmailHasher) -> Result<Lead, ApiError> {
        let event_name = match self.additional_data {
            Some(additional_data) => {
                let event_name = additional_data.event_name.clone();
                additional_data.refuse_test_mode()?;
                event_name.text("event_name")?
            }
            None => None,
        };
        let click_id: Option<Text<255>> = self.click_id.text("click_id")?;
        let customer_key = self.customer_key.text("customer_key")?;
        if click_id.is_none() && customer_key.is_none() {
            return Err(ApiError::bad_request("click_id or customer_key is required"));
        }
        let click_id = click_id.and_then(|text| ClickId::parse(text.as_str()));
        // A click_id of another form than ours can be nobody's.
        if click_id.is_none() && customer_key.is_none() {
            return Err(refusal(LeadRefusal::CustomerNotFound));
        }
        let email: Option<Text<320>> = self.email.text("email")?;
        let email_hash = email
            .map(|email| {
                email_hasher
                    .hash(email.as_str())
                    .ok_or_else(|| refused("email", "cannot be hashed"))
            })
            .transpose()?;
        Ok(Lead {
            mode,
            click_id,
            customer_key,
            email_hash,
            event_name: event_name.or(self.event_name.text("event_name")?),
        })
    }
}

fn answer(outcome: LeadOutcome) -> Result<Json<LeadAnswer>, ApiError> {
    let provisional = match outcome {
        LeadOutcome::Tracked => false,
        LeadOutcome::Provisional => true,
        LeadOutcome::Refused(reason) => return Err(refusal(reason)),
    };
    Ok(Json(LeadAnswer {
        success: true,
        provisional,
        message: "Lead tracked successfully",
    }))
}

fn refusal(reason: LeadRefusal) -> ApiError {
    match reason {
        LeadRefusal::CustomerNotFound => {
            ApiError::bad_request("Customer not found. Provide a valid click_id or customer_key.")
        }
        LeadRefusal::CustomerOfAnotherProgram => {
            ApiError::bad_request("Customer does not belong to this program")
        }
        LeadRefusal::CannotBecomeLead { current } => ApiError::bad_request(format!(
            "Customer status cannot be updated to lead. Current status: {}",
            current.as_str()
        )),
    }
}
