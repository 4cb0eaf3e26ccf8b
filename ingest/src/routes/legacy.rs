//! What is left of `/api/tracking`: older scripts send leads under other names, and check an installation by test events.
//!
//! Clicks, sales and refunds came under the same names then, so their paths lead straight to today's routes.

use axum::Json;
use axum::extract::State;
use chrono::{DateTime, SecondsFormat, TimeDelta, Utc};
use common::domain::ids::ProgramId;
use common::domain::money::Currency;
use common::domain::sale::SaleType;
use common::domain::text::TransactionId;
use common::messages::test_event::{TestClick, TestEvent, TestLead, TestSale};
use common::storage::test_events::{self, COUNTED, LatestTestEvent, TestEvents, TestedProgram};
use serde::{Deserialize, Serialize};
use serde_json::json;
use utoipa::ToSchema;

use crate::app::App;
use crate::body::{TrackingBody, parse};
use crate::caller::Caller;
use crate::error::ApiError;
use crate::field::{Field, Key, refused};
use crate::routes::lead::{
    FAILED as LEAD_FAILED, LeadAnswer, LeadRequest, customer_key_schema, track, tracked,
};
use crate::routes::openapi::envelopes::PlatformError;
use crate::routes::openapi::examples::Examples;
use crate::routes::test_event::program_number;
use crate::routes::test_mode::{
    AdditionalData, AdditionalFields, OTHER_PROGRAM, TEST_LEAD, TestAnswer, generated_transaction_id,
    no_program,
};

const FAILED: &str = "Test event tracking failed";
const NO_TOKEN: &str = "Missing API token";
const PROGRAM_ID: &str = "program_id";

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
    #[serde(default)]
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
    operation_id = "older_lead",
    security((), ("program_key" = [])),
    request_body = LegacyLeadRequest,
    responses(
        (status = 200, description = "Recorded.", body = LegacyLeadAnswer),
        (status = 403, description = "Test mode: the key is of another program.", body = PlatformError),
    )
)]
pub async fn lead(
    State(app): State<App>,
    caller: Caller,
    body: TrackingBody,
) -> Result<Json<LegacyLeadAnswer>, ApiError> {
    let legacy = body.bytes().and_then(|bytes| parse::<LegacyLeadRequest>(&bytes));
    let customer_code = match &legacy {
        Ok(LegacyLeadRequest {
            customer_code: Field::Given(customer_code),
            ..
        }) => Some(customer_code.clone()),
        _ => None,
    };
    let answer = track(&app, caller, legacy.map(LeadRequest::from)).await?;
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

/// A step of setting up an installation; each is tried out by one type of event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Step {
    Pageview,
    Referrals,
    Payments,
}

impl Step {
    fn parse(field: Field<String>) -> Result<Option<Self>, ApiError> {
        let text = match field {
            Field::Absent => return Ok(None),
            Field::Given(text) => text,
            Field::WrongType => String::new(),
        };
        match text.as_str() {
            "pageview" => Ok(Some(Self::Pageview)),
            "referrals" => Ok(Some(Self::Referrals)),
            "payments" => Ok(Some(Self::Payments)),
            _ => Err(unknown_step()),
        }
    }
}

fn unknown_step() -> ApiError {
    refused("step_id", "must be pageview, referrals or payments")
}

#[derive(Debug, Deserialize, ToSchema)]
struct StepRequest {
    /// The key's own program, where it is named at all.
    #[schema(schema_with = program_number, required = false)]
    program_id: Field<ProgramId>,
    /// `pageview` tries out clicks, `referrals` leads, `payments` sales.
    #[schema(value_type = Option<String>, pattern = "^(pageview|referrals|payments)$")]
    step_id: Field<String>,
}

/// Store a test event
///
/// Of the step's type, without anything particular in it. Use `POST /api/v1/cli/test-event`, or the test mode of
/// `POST /api/v1/track/click`, `lead` and `sale`, instead.
// It needs the program's key, so that a stranger neither learns which programs exist nor writes into their live views.
#[utoipa::path(
    post,
    path = "/api/tracking/test",
    operation_id = "older_test",
    security(("program_key" = [])),
    request_body = StepRequest,
    responses(
        (status = 200, description = "Stored.", body = TestAnswer),
        (status = 403, description = "The key is of another program.", body = PlatformError),
    )
)]
pub async fn test(
    State(app): State<App>,
    caller: Caller,
    body: TrackingBody,
) -> Result<Json<TestAnswer>, ApiError> {
    let program_id = caller.program(NO_TOKEN, FAILED)?;
    let bytes = body.bytes()?;
    let request = parse::<StepRequest>(&bytes)?;
    let step = Step::parse(request.step_id)?.ok_or_else(unknown_step)?;
    is_of(program_id, &request.program_id)?;
    let event = match step {
        Step::Pageview => TestEvent::Click(TestClick::default()),
        Step::Referrals => TestEvent::Lead(TestLead::default()),
        Step::Payments => TestEvent::Sale(Box::new(empty_sale(app.clock.now())?)),
    };
    app.record_test(program_id, event, FAILED).await.map(Json)
}

/// Refuses a program that is not the key's, whether it exists or not.
fn is_of(program_id: ProgramId, named: &Field<ProgramId>) -> Result<(), ApiError> {
    match named {
        Field::Given(named) if *named != program_id => Err(ApiError::Forbidden(OTHER_PROGRAM)),
        Field::Given(_) | Field::Absent => Ok(()),
        Field::WrongType => Err(no_program(PROGRAM_ID)),
    }
}

fn empty_sale(now: DateTime<Utc>) -> Result<TestSale, ApiError> {
    Ok(TestSale {
        transaction_id: TransactionId::try_from(generated_transaction_id(now))
            .map_err(|error| ApiError::internal(FAILED, error))?,
        amount: None,
        currency: Currency::default(),
        sale_type: SaleType::default(),
        is_recurring: false,
        subscription_id: None,
        subscription_interval: None,
        product_id: None,
        line_items: None,
    })
}

#[derive(Debug, Serialize, ToSchema)]
#[schema(as = TestEventsAnswer)]
pub struct CheckAnswer {
    success: bool,
    data: Check,
}

/// Numbers and times only.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = TestEvents)]
struct Check {
    has_test_events: bool,
    /// Of all types looked at together, at most ten.
    #[schema(minimum = 0, maximum = 10)]
    event_count: i64,
    events_by_type: EventsByType,
    #[schema(required = true)]
    latest_test_event: Option<Latest>,
    #[schema(value_type = i64)]
    program_id: ProgramId,
    /// The workspace the program belongs to.
    advertiser_id: i64,
    /// As asked for; null when all types were looked at.
    #[schema(value_type = Option<String>, required = true, pattern = "^(pageview|referrals|payments)$")]
    step_id: Option<Step>,
}

/// At most ten each; zero for a type that was not looked at.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = TestEventsByType)]
struct EventsByType {
    #[schema(minimum = 0, maximum = 10)]
    click: i64,
    #[schema(minimum = 0, maximum = 10)]
    lead: i64,
    #[schema(minimum = 0, maximum = 10)]
    sale: i64,
}

#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = LatestTestEvent)]
struct Latest {
    id: i64,
    /// When it happened: ISO 8601, UTC.
    #[schema(format = DateTime)]
    timestamp: String,
    /// When it was stored: ISO 8601, UTC.
    #[schema(format = DateTime)]
    created_at: String,
}

/// Ask which test events have arrived
///
/// Of one step's type or of all. Use `GET /api/v1/programs/me/readiness` instead.
// It needs the program's key: without one, the answers would tell strangers which programs exist and whose they are.
#[utoipa::path(
    post,
    path = "/api/tracking/check-test-events",
    operation_id = "older_check",
    security(("program_key" = [])),
    request_body = StepRequest,
    responses(
        (status = 200, description = "As of now.", body = CheckAnswer),
        (status = 403, description = "The key is of another program.", body = PlatformError),
    )
)]
pub async fn check(
    State(app): State<App>,
    caller: Caller,
    body: TrackingBody,
) -> Result<Json<CheckAnswer>, ApiError> {
    let program_id = caller.program(NO_TOKEN, FAILED)?;
    let bytes = body.bytes()?;
    let request = parse::<StepRequest>(&bytes)?;
    let step = Step::parse(request.step_id)?;
    is_of(program_id, &request.program_id)?;
    let tested = test_events::of_program(&app.pool, program_id)
        .await
        .map_err(|error| ApiError::internal(FAILED, error))?
        .ok_or_else(|| no_program(PROGRAM_ID))?;
    Ok(Json(CheckAnswer {
        success: true,
        data: Check::new(program_id, &tested, step),
    }))
}

impl Check {
    fn new(program_id: ProgramId, tested: &TestedProgram, step: Option<Step>) -> Self {
        let of = |its_step: Step, events: TestEvents| {
            if step.is_none_or(|step| step == its_step) {
                events
            } else {
                TestEvents::NONE
            }
        };
        let clicks = of(Step::Pageview, tested.clicks);
        let leads = of(Step::Referrals, tested.leads);
        let sales = of(Step::Payments, tested.sales);
        let event_count = (clicks.count + leads.count + sales.count).min(COUNTED);
        let latest = [clicks.latest, leads.latest, sales.latest]
            .into_iter()
            .flatten()
            .max_by_key(|event| event.timestamp);
        let iso = |time: DateTime<Utc>| time.to_rfc3339_opts(SecondsFormat::Millis, true);
        Self {
            has_test_events: event_count > 0,
            event_count,
            events_by_type: EventsByType {
                click: clicks.count,
                lead: leads.count,
                sale: sales.count,
            },
            latest_test_event: latest.map(|event| Latest {
                id: event.row_id,
                timestamp: iso(event.timestamp),
                created_at: iso(event.created_at),
            }),
            program_id,
            advertiser_id: tested.workspace_id,
            step_id: step,
        }
    }
}

pub fn lead_examples() -> Examples {
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
        .refusal(&ApiError::internal(LEAD_FAILED, anyhow::Error::msg("an example")))
}

pub fn test_examples() -> Examples {
    Examples::default()
        .request("A lead", json!({ "program_id": 1, "step_id": "referrals" }))
        .answer("Stored", TestAnswer::example(TEST_LEAD))
        .refusal(&unknown_step())
        .refusal(&no_program(PROGRAM_ID))
        .refusal(&ApiError::Forbidden(OTHER_PROGRAM))
        .refusal(&ApiError::internal(FAILED, anyhow::Error::msg("an example")))
}

pub fn check_examples() -> Examples {
    let event = |row_id, second: i64| {
        let timestamp = DateTime::UNIX_EPOCH + TimeDelta::seconds(1_797_000_000 + second);
        TestEvents {
            count: 1,
            latest: Some(LatestTestEvent {
                row_id,
                timestamp,
                created_at: timestamp,
            }),
        }
    };
    let tested = TestedProgram {
        workspace_id: 1,
        clicks: event(16, 0),
        leads: event(17, 40),
        sales: TestEvents::NONE,
    };
    let answer = |step| CheckAnswer {
        success: true,
        data: Check::new(ProgramId::new(1), &tested, step),
    };
    Examples::default()
        .request("Of all types", json!({ "program_id": 1 }))
        .request("Of one step", json!({ "program_id": 1, "step_id": "payments" }))
        .answer("Of all types", answer(None))
        .answer("None of this step", answer(Some(Step::Payments)))
        .refusal(&no_program(PROGRAM_ID))
        .refusal(&ApiError::Forbidden(OTHER_PROGRAM))
        .refusal(&ApiError::internal(FAILED, anyhow::Error::msg("an example")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_examples_are_requests_of_their_paths() {
        for body in lead_examples().requests() {
            assert!(matches!(
                parse::<LegacyLeadRequest>(&body).unwrap().user_id,
                Field::Given(_)
            ));
        }
        for body in test_examples().requests().chain(check_examples().requests()) {
            let request: StepRequest = parse(&body).unwrap();
            assert!(matches!(request.program_id, Field::Given(_)));
            Step::parse(request.step_id).unwrap();
        }
    }
}
