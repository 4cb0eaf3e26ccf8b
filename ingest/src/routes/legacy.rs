//! What is left of `/api/tracking`: older scripts send leads under other names, and check an installation by test events.
//!
//! Clicks, sales and refunds came under the same names then, so their paths lead straight to today's routes.

use axum::Json;
use axum::extract::State;
use chrono::{DateTime, SecondsFormat, Utc};
use common::domain::ids::ProgramId;
use common::domain::money::Currency;
use common::domain::sale::SaleType;
use common::domain::text::TransactionId;
use common::messages::test_event::{TestClick, TestEvent, TestLead, TestSale};
use common::storage::test_events::{self, COUNTED, TestEvents, TestedProgram};
use serde::{Deserialize, Serialize};

use crate::app::App;
use crate::body::{TrackingBody, parse};
use crate::caller::Caller;
use crate::error::ApiError;
use crate::field::{Field, refused};
use crate::routes::lead::{LeadAnswer, LeadRequest, track};
use crate::routes::test_mode::{AdditionalData, TestAnswer, generated_transaction_id, no_program};

const FAILED: &str = "Test event tracking failed";
const PROGRAM_ID: &str = "program_id";

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct LegacyLeadRequest {
    /// The click_id, by the name of the cookie it was kept in.
    customer_code: Field<String>,
    /// The customer_key.
    user_id: Field<String>,
    email: Field<String>,
    event_name: Field<String>,
    additional_data: AdditionalData,
}

#[derive(Debug, Serialize)]
pub struct LegacyLeadAnswer {
    #[serde(flatten)]
    answer: LeadAnswer,
    /// As sent; null without one.
    customer_code: Option<String>,
}

/// `POST /api/tracking/lead`.
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

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct StepRequest {
    program_id: Field<ProgramId>,
    step_id: Field<String>,
}

/// `POST /api/tracking/test`: a test event of the step's type, without anything particular in it.
///
/// Like the test mode of a click it needs no key, for a sale neither: all that can be made here is a test row.
pub async fn test(
    State(app): State<App>,
    caller: Caller,
    body: TrackingBody,
) -> Result<Json<TestAnswer>, ApiError> {
    let bytes = body.bytes()?;
    let request = parse::<StepRequest>(&bytes)?;
    let step = Step::parse(request.step_id)?.ok_or_else(unknown_step)?;
    let program_id = app
        .tested_program(caller, request.program_id, PROGRAM_ID, FAILED)
        .await?
        .ok_or_else(|| no_program(PROGRAM_ID))?;
    let event = match step {
        Step::Pageview => TestEvent::Click(TestClick::default()),
        Step::Referrals => TestEvent::Lead(TestLead::default()),
        Step::Payments => TestEvent::Sale(Box::new(empty_sale(app.clock.now())?)),
    };
    app.record_test(program_id, event, FAILED).await.map(Json)
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

#[derive(Debug, Serialize)]
pub struct CheckAnswer {
    success: bool,
    data: Check,
}

/// Numbers and times only, because anybody may ask.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Check {
    has_test_events: bool,
    /// Of all types looked at together, at most ten.
    event_count: i64,
    events_by_type: EventsByType,
    latest_test_event: Option<Latest>,
    program_id: ProgramId,
    /// The workspace the program belongs to.
    advertiser_id: i64,
    step_id: Option<Step>,
}

/// At most ten each; zero for a type that was not looked at.
#[derive(Debug, Serialize)]
struct EventsByType {
    click: i64,
    lead: i64,
    sale: i64,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Latest {
    id: i64,
    /// When it happened: ISO 8601, UTC.
    timestamp: String,
    /// When it was stored: ISO 8601, UTC.
    created_at: String,
}

/// `POST /api/tracking/check-test-events`: which test events have arrived, of one step's type or of all.
///
/// It needs no key, as test mode needs none: whoever tries out an installation has only its page. So it says how many
/// test events there are and when the latest came, and nothing of what is in them.
pub async fn check(
    State(app): State<App>,
    caller: Caller,
    body: TrackingBody,
) -> Result<Json<CheckAnswer>, ApiError> {
    let bytes = body.bytes()?;
    let request = parse::<StepRequest>(&bytes)?;
    let step = Step::parse(request.step_id)?;
    let program_id = app
        .tested_program(caller, request.program_id, PROGRAM_ID, FAILED)
        .await?
        .ok_or_else(|| no_program(PROGRAM_ID))?;
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
