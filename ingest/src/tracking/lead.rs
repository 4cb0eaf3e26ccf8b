//! `POST /api/v1/track/lead`: a visitor signed up.

use axum::extract::State;
use axum::{Extension, Json};
use domain::email::EmailHasher;
use domain::ids::{EventId, ProgramId};
use domain::programs::tracking_token::TokenScope;
use domain::text::{CustomerKey, Label, Text};
use domain::tracking::click_id::ClickId;
use domain::tracking::customer::CustomerStatus;
use domain::tracking::lead::{Lead, LeadMode, LeadRefusal};
use messages::lead::{LeadOutcome, LeadRecord};
use messages::test_event::{TestEvent, TestLead};
use serde::{Deserialize, Serialize};
use serde_json::json;
use utoipa::ToSchema;
use utoipa::openapi::schema::{Object, Schema, SchemaType, Type};

use crate::app::App;
use crate::http::body::{RequestBody, parse};
use crate::http::client_address::ClientAddress;
use crate::http::error::ApiError;
use crate::http::field::{Field, Key, refused};
use crate::http::openapi::envelopes::PlatformError;
use crate::http::openapi::examples::Examples;
use crate::tracking::caller::{Caller, INVALID_TOKEN, out_of_scope};
use crate::tracking::test_mode::{
    AdditionalData, AdditionalFields, OTHER_PROGRAM, PROGRAM_ID, TEST_LEAD, TestAnswer, no_program,
    record_test, tested_program,
};

pub(super) const FAILED: &str = "Lead tracking failed";

/// At least one of `click_id` and `customer_key` names the customer; both together bind them to each other.
#[derive(Debug, Deserialize, ToSchema)]
pub struct LeadRequest {
    /// The answer to the visitor's click.
    #[schema(value_type = Option<String>, max_length = 255)]
    pub click_id: Field<String>,
    #[schema(schema_with = customer_key_schema, required = false)]
    pub customer_key: Field<Key>,
    /// Stored as a keyed hash only.
    #[schema(value_type = Option<String>, max_length = 320, examples("jane@shop.example"))]
    pub email: Field<String>,
    #[schema(value_type = Option<String>, max_length = 255, examples("signup"))]
    pub event_name: Field<String>,
    #[schema(value_type = Option<AdditionalFields>)]
    pub additional_data: AdditionalData,
}

/// The schema of `customer_key` in every request.
pub fn customer_key_schema() -> Schema {
    Object::builder()
        .schema_type(SchemaType::from_iter([Type::String, Type::Integer, Type::Null]))
        .max_length(Some(255))
        .description(Some(
            "The advertiser's own stable id of the user; an integer counts as its decimal text.",
        ))
        .examples([json!("user-42")])
        .into()
}

/// The customer's ids, and the names in the lead.
#[derive(Debug)]
struct Names {
    click_id: Option<Label>,
    customer_key: Option<CustomerKey>,
    email: Option<Text<320>>,
    event_name: Option<Label>,
}

#[derive(Debug, Serialize, ToSchema)]
#[serde(untagged)]
pub enum LeadAnswer {
    #[schema(title = "RecordedLead")]
    Tracked {
        success: bool,
        /// Present and true when the program waits for its backend, or for a payment, to confirm the lead.
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        provisional: bool,
        #[schema(pattern = "^Lead tracked")]
        message: &'static str,
    },
    Test(TestAnswer),
}

/// Record a lead
///
/// A visitor signed up. With the program's key the backend reports it; without, a browser.
#[utoipa::path(
    post,
    path = "/api/v1/track/lead",
    tag = "tracking",
    security((), ("program_key" = [])),
    request_body = LeadRequest,
    responses(
        (status = 200, description = "Recorded.", body = LeadAnswer),
        (status = 403, description = "The token is for other calls, or in test mode of another program.", body = PlatformError),
    )
)]
pub async fn lead(
    State(app): State<App>,
    caller: Caller,
    client: Option<Extension<ClientAddress>>,
    body: RequestBody,
) -> Result<Json<LeadAnswer>, ApiError> {
    let request = body.bytes().and_then(|bytes| parse::<LeadRequest>(&bytes));
    let client = client.map(|Extension(client)| client);
    track(&app, caller, client, request).await.map(Json)
}

/// A wrong credential is rejected before a wrong body; in test mode it is ignored.
pub(super) async fn track(
    app: &App,
    caller: Caller,
    client: Option<ClientAddress>,
    request: Result<LeadRequest, ApiError>,
) -> Result<LeadAnswer, ApiError> {
    let asks_for_test = |request: &LeadRequest| request.additional_data.asks_for_test_mode();
    if request.as_ref().is_ok_and(asks_for_test) {
        return test(app, caller, request?).await;
    }
    let mode = mode(caller)?;
    let lead = request?.validate(mode, &app.email_hasher)?;
    let (one_of_many, share) = match mode {
        // The click names the program; the worker looks it up.
        LeadMode::Browser => (app.limits.spend_browser_lead(client)?, None),
        LeadMode::Server { program_id } => (false, Some(program_id)),
    };
    let record = LeadRecord {
        event_id: EventId::new(app.clock.mint()),
        led_at: app.clock.now(),
        lead,
        one_of_many,
    };
    let outcome = app
        .pipeline
        .publish_and_await(&app.pipeline.leads, share, record.event_id, &record, FAILED)
        .await?;
    answer(outcome)
}

/// A test lead needs no customer's id, and none is looked up.
async fn test(app: &App, caller: Caller, request: LeadRequest) -> Result<LeadAnswer, ApiError> {
    let (names, program_id) = request.names()?;
    let program_id = tested_program(app, caller, program_id, PROGRAM_ID, FAILED).await?;
    let program_id = program_id.ok_or_else(|| no_program(PROGRAM_ID))?;
    let test = TestLead {
        click_id: names.click_id,
        customer_key: names.customer_key,
        event_name: names.event_name,
    };
    let answer = record_test(app, program_id, TestEvent::Lead(test), FAILED).await?;
    Ok(LeadAnswer::Test(answer))
}

/// Without a usable bearer token the caller is the visitor's browser; an unknown token is rejected.
fn mode(caller: Caller) -> Result<LeadMode, ApiError> {
    match caller {
        Caller::Anonymous | Caller::EmptyToken => Ok(LeadMode::Browser),
        Caller::Unknown | Caller::Archived(_) => Err(ApiError::Unauthorized(INVALID_TOKEN)),
        Caller::Program(program) => {
            let program_id = program.demand(TokenScope::Lead)?;
            Ok(LeadMode::Server { program_id })
        }
        Caller::Undecided(unavailable) => Err(ApiError::internal(FAILED, unavailable)),
    }
}

impl LeadRequest {
    /// The validated texts of the body, and the program that it names for test mode.
    fn names(self) -> Result<(Names, Field<ProgramId>), ApiError> {
        let additional = self.additional_data.fields()?;
        additional.is_test()?;
        let event_name = additional.event_name.text("event_name")?;
        let names = Names {
            click_id: self.click_id.text("click_id")?,
            customer_key: self.customer_key.text("customer_key")?,
            email: self.email.text("email")?,
            event_name: event_name.or(self.event_name.text("event_name")?),
        };
        Ok((names, additional.program_id))
    }

    fn validate(self, mode: LeadMode, email_hasher: &EmailHasher) -> Result<Lead, ApiError> {
        let (names, _) = self.names()?;
        if names.click_id.is_none() && names.customer_key.is_none() {
            return Err(ApiError::bad_request("click_id or customer_key is required"));
        }
        let click_id = names.click_id.and_then(|text| ClickId::parse(text.as_str()));
        // A malformed click_id matches no customer.
        if click_id.is_none() && names.customer_key.is_none() {
            return Err(refusal(LeadRefusal::CustomerNotFound));
        }
        let email_hash = names
            .email
            .map(|email| {
                email_hasher
                    .hash(email.as_str())
                    .ok_or_else(|| refused("email", "cannot be hashed"))
            })
            .transpose()?;
        Ok(Lead {
            mode,
            click_id,
            customer_key: names.customer_key,
            email_hash,
            event_name: names.event_name,
        })
    }
}

/// The parsed request; `None` in test mode.
pub fn read(body: &[u8], mode: LeadMode, email_hash_key: &[u8; 32]) -> Result<Option<Lead>, ApiError> {
    let request: LeadRequest = parse(body)?;
    if request.additional_data.asks_for_test_mode() {
        return request.names().map(|_| None);
    }
    request
        .validate(mode, &EmailHasher::from((*email_hash_key, Vec::new())))
        .map(Some)
}

fn answer(outcome: LeadOutcome) -> Result<LeadAnswer, ApiError> {
    let provisional = match outcome {
        LeadOutcome::Tracked => false,
        LeadOutcome::Provisional => true,
        LeadOutcome::Refused(reason) => return Err(refusal(reason)),
    };
    Ok(tracked(provisional))
}

pub(super) fn tracked(provisional: bool) -> LeadAnswer {
    LeadAnswer::Tracked {
        success: true,
        provisional,
        message: "Lead tracked successfully",
    }
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

pub fn examples() -> Examples {
    Examples::default()
        .request(
            "From a browser or a backend",
            json!({
                "click_id": "cust_7204319856127340_1798796400000",
                "customer_key": "user-42",
                "email": "jane@shop.example",
            }),
        )
        .request(
            "By key alone",
            json!({ "customer_key": "user-42", "event_name": "signup" }),
        )
        .request(
            "Test mode",
            json!({ "additional_data": { "test_mode": true, "program_id": 1, "event_name": "signup" } }),
        )
        .answer("Recorded", tracked(false))
        .answer("Provisional", tracked(true))
        .answer("Test mode", LeadAnswer::Test(TestAnswer::example(TEST_LEAD)))
        .refusal(&refusal(LeadRefusal::CustomerNotFound))
        .refusal(&refusal(LeadRefusal::CannotBecomeLead {
            current: CustomerStatus::Lead,
        }))
        .refusal(&ApiError::Forbidden(OTHER_PROGRAM))
        .refusal(&out_of_scope(TokenScope::Lead))
        .refusal(&ApiError::internal(FAILED, anyhow::Error::msg("an example")))
}
