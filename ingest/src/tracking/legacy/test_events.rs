//! `POST /api/tracking/test` and `…/check-test-events`: older scripts check an installation by test events,
//! with one type of event for each step.

use axum::Json;
use axum::extract::{FromRequestParts, State};
use axum::http::request::Parts;
use chrono::{DateTime, TimeDelta, Utc};
use domain::ids::ProgramId;
use domain::money::Currency;
use domain::people::permission::Permission;
use domain::text::TransactionId;
use domain::tracking::sale::SaleType;
use messages::instant::instant;
use messages::test_event::{TestClick, TestEvent, TestLead, TestSale};
use serde::{Deserialize, Serialize};
use serde_json::json;
use storage::StorageError;
use storage::tracking::test_events::{self, COUNTED, LatestTestEvent, TestEvents, TestedProgram};
use utoipa::ToSchema;

use crate::app::App;
use crate::http::body::{RequestBody, parse};
use crate::http::credential::Credential;
use crate::http::error::ApiError;
use crate::http::field::Field;
use crate::http::openapi::envelopes::PlatformError;
use crate::http::openapi::examples::Examples;
use crate::management::access::{ARCHIVED, Advertiser, FORBIDDEN};
use crate::tracking::caller::Caller;
use crate::tracking::test_event::program_number;
use crate::tracking::test_mode::{
    OTHER_PROGRAM, TEST_LEAD, TestAnswer, generated_transaction_id, no_program, record_test,
};

const FAILED: &str = "Test event tracking failed";
const NO_TOKEN: &str = "Missing API token";
const PROGRAM_ID: &str = "program_id";

/// A step of setting up an installation, tested by one type of event.
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
            _ => Err(UNKNOWN_STEP),
        }
    }
}

const UNKNOWN_STEP: ApiError = ApiError::refusal("step_id must be pageview, referrals or payments");

#[derive(Debug)]
pub enum Tester {
    /// Authenticated by the program's key.
    Program(ProgramId),
    /// Authenticated by a session or a management key. The request must name the program.
    Manager(Advertiser),
}

impl Tester {
    /// The program to test, if the caller has the permission. The answer does not reveal whether another
    /// advertiser's program exists.
    async fn program(
        self,
        app: &App,
        named: &Field<ProgramId>,
        permission: Permission,
    ) -> Result<ProgramId, ApiError> {
        match (self, named) {
            (_, Field::WrongType) | (Self::Manager(_), Field::Absent) => Err(no_program(PROGRAM_ID)),
            (Self::Program(own), Field::Given(named)) if *named != own => {
                Err(ApiError::Forbidden(OTHER_PROGRAM))
            }
            (Self::Program(own), _) => Ok(own),
            (Self::Manager(advertiser), Field::Given(named)) => {
                let mut connection = app.management.acquire().await?;
                let access = match advertiser
                    .rights
                    .program(&mut connection, *named, permission)
                    .await
                {
                    Err(ApiError::NotFound(_)) => return Err(FORBIDDEN),
                    access => access?,
                };
                Ok(access.for_change()?.program_id)
            }
        }
    }
}

impl FromRequestParts<App> for Tester {
    type Rejection = ApiError;

    /// Reads the `Authorization` header alone. Pages of other sites may call this route, and the browser
    /// would add its cookie.
    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, ApiError> {
        match Credential::of(&parts.headers) {
            Credential::Session(_) | Credential::Management(_) => Advertiser::from_request_parts(parts, app)
                .await
                .map(Self::Manager),
            _ => {
                let Ok(caller) = Caller::from_request_parts(parts, app).await;
                caller
                    .program(NO_TOKEN, FAILED)
                    .map(|program| Self::Program(program.program_id))
            }
        }
    }
}

#[derive(Debug, Deserialize, ToSchema)]
struct StepRequest {
    /// The key's own program, where it is named at all; with a session or a management key it must be.
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
// It needs a credential, so that a stranger neither learns which programs exist nor writes into their live views.
#[utoipa::path(
    post,
    path = "/api/tracking/test",
    security(("program_key" = []), ("session" = []), ("management_key" = [])),
    request_body = StepRequest,
    responses(
        (status = 200, description = "Stored.", body = TestAnswer),
        (status = 403, description = "The program is another than the key's, or not theirs to change.", body = PlatformError),
        (status = 409, description = "The program is archived.", body = PlatformError),
    )
)]
pub async fn older_test(
    State(app): State<App>,
    by: Tester,
    body: RequestBody,
) -> Result<Json<TestAnswer>, ApiError> {
    let bytes = body.bytes()?;
    let request = parse::<StepRequest>(&bytes)?;
    let step = Step::parse(request.step_id)?.ok_or(UNKNOWN_STEP)?;
    let program_id = by
        .program(&app, &request.program_id, Permission::ProgramUpdate)
        .await?;
    let event = match step {
        Step::Pageview => TestEvent::Click(TestClick::default()),
        Step::Referrals => TestEvent::Lead(TestLead::default()),
        Step::Payments => TestEvent::Sale(Box::new(empty_sale(app.clock.now())?)),
    };
    record_test(&app, program_id, event, FAILED).await.map(Json)
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
// It needs a credential: otherwise the answers would reveal which programs exist and who owns them.
#[utoipa::path(
    post,
    path = "/api/tracking/check-test-events",
    security(("program_key" = []), ("session" = []), ("management_key" = [])),
    request_body = StepRequest,
    responses(
        (status = 200, description = "As of now.", body = CheckAnswer),
        (status = 403, description = "The program is another than the key's, or not theirs to read.", body = PlatformError),
        (status = 409, description = "The program is archived.", body = PlatformError),
    )
)]
pub async fn older_check(
    State(app): State<App>,
    by: Tester,
    body: RequestBody,
) -> Result<Json<CheckAnswer>, ApiError> {
    let bytes = body.bytes()?;
    let request = parse::<StepRequest>(&bytes)?;
    let step = Step::parse(request.step_id)?;
    let program_id = by
        .program(&app, &request.program_id, Permission::ProgramRead)
        .await?;
    let failed = |error| ApiError::internal(FAILED, error);
    let mut connection = app
        .management
        .acquire()
        .await
        .map_err(StorageError::from)
        .map_err(failed)?;
    let tested = test_events::of_program(&mut connection, program_id)
        .await
        .map_err(failed)?
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
                timestamp: instant(event.timestamp),
                created_at: instant(event.created_at),
            }),
            program_id,
            advertiser_id: tested.workspace_id,
            step_id: step,
        }
    }
}

pub fn test_examples() -> Examples {
    Examples::default()
        .request("A lead", json!({ "program_id": 1, "step_id": "referrals" }))
        .answer("Stored", TestAnswer::example(TEST_LEAD))
        .refusal(&UNKNOWN_STEP)
        .refusal(&no_program(PROGRAM_ID))
        .refusal(&ApiError::Forbidden(OTHER_PROGRAM))
        .refusal(&FORBIDDEN)
        .refusal(&ARCHIVED)
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
        .refusal(&FORBIDDEN)
        .refusal(&ARCHIVED)
        .refusal(&ApiError::internal(FAILED, anyhow::Error::msg("an example")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_examples_are_requests_of_their_paths() {
        for body in test_examples().requests().chain(check_examples().requests()) {
            let request: StepRequest = parse(&body).unwrap();
            assert!(matches!(request.program_id, Field::Given(_)));
            Step::parse(request.step_id).unwrap();
        }
    }
}
