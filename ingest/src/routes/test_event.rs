//! `POST /api/v1/cli/test-event`: does the integration work? A synthetic click, lead and sale find out.
//!
//! The older form of the request asks for a single event, which is stored as a test row and attributed to nobody.

use axum::Json;
use axum::extract::State;
use common::domain::ids::{EventId, ProgramId};
use common::domain::test_chain::{ChainVerdict, TestEventType, TestRun};
use common::domain::text::{CustomerKey, Text};
use common::messages::test_chain::{TestChainOutcome, TestChainRecord};
use serde::{Deserialize, Serialize};

use crate::app::App;
use crate::body::{TrackingBody, parse};
use crate::caller::Caller;
use crate::error::ApiError;
use crate::field::{Field, FieldType};
use crate::pipeline::encode;
use crate::request_id::RequestId;

pub const OTHER_PROGRAM: &str = "program_id does not match the API key";
const FAILED: &str = "Test event failed";
const NO_LINK: &str = "The program has no active referral link of an approved partner";

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct TestEventRequest {
    r#type: Field<String>,
    event_type: Field<String>,
    program_id: Field<ProgramNumber>,
}

/// A program's id, as a number or in quotes.
#[derive(Debug)]
struct ProgramNumber(ProgramId);

impl FieldType for ProgramNumber {
    fn from_text(text: String) -> Option<Self> {
        text.parse().ok().and_then(Self::from_integer)
    }

    fn from_integer(integer: i64) -> Option<Self> {
        Some(Self(ProgramId::new(integer)))
    }
}

#[derive(Debug, Serialize)]
#[serde(untagged)]
pub enum TestEventAnswer {
    Chain {
        data: ChainAnswer,
    },
    Event {
        event_type: &'static str,
        event_id: String,
        received: bool,
        attributed: bool,
        message: &'static str,
    },
}

#[derive(Debug, Serialize)]
pub struct ChainAnswer {
    r#type: &'static str,
    /// The link the chain ran over; `None` when the program has none that could be used.
    short_code: Option<String>,
    customer_key: CustomerKey,
    verdict: ChainVerdict,
    attributed: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<&'static str>,
}

pub async fn test_event(
    State(app): State<App>,
    request_id: RequestId,
    caller: Caller,
    body: TrackingBody,
) -> Result<Json<TestEventAnswer>, ApiError> {
    try_out(&app, caller, body)
        .await
        .map_err(|error| error.quoting(&request_id))
}

async fn try_out(app: &App, caller: Caller, body: TrackingBody) -> Result<Json<TestEventAnswer>, ApiError> {
    let program_id = caller.program("Missing API token", FAILED)?;
    let bytes = body.bytes()?;
    let run = parse::<TestEventRequest>(&bytes)?.validate(program_id)?;
    if run == TestRun::Chain {
        app.limits.spend_chain(program_id).await?;
    }
    let record = record(app, program_id, run)?;
    let encoded = encode(&record, FAILED)?;
    let outcome = app
        .pipeline
        .ask(&app.pipeline.test_chains, record.event_id, encoded, FAILED)
        .await?;
    Ok(Json(answer(record, outcome)))
}

impl TestEventRequest {
    fn validate(self, program_id: ProgramId) -> Result<TestRun, ApiError> {
        let run = match (self.r#type, self.event_type) {
            (Field::Given(kind), _) if kind == "chain" => Some(TestRun::Chain),
            (Field::Absent, Field::Given(kind)) => TestEventType::parse(&kind).map(TestRun::Event),
            _ => None,
        };
        let run = run.ok_or_else(|| {
            ApiError::bad_request("type must be chain, or event_type one of click, lead and sale")
        })?;
        match self.program_id {
            Field::Absent => Ok(run),
            Field::Given(ProgramNumber(named)) if named == program_id => Ok(run),
            Field::Given(_) => Err(ApiError::Forbidden(OTHER_PROGRAM)),
            Field::WrongType => Err(ApiError::bad_request("program_id must be an integer")),
        }
    }
}

/// A synthetic customer of its own for each run.
fn record(app: &App, program_id: ProgramId, run: TestRun) -> Result<TestChainRecord, ApiError> {
    let started_at = app.clock.now();
    let (customer_id, click_id) = app.new_customer(started_at)?;
    let event_id = EventId::new(app.clock.mint());
    let name = format!("test_chain_{}", event_id.get().simple());
    Ok(TestChainRecord {
        event_id,
        started_at,
        program_id,
        customer_id,
        click_id,
        customer_key: named(&name)?,
        transaction_id: named(&name)?,
        run,
    })
}

fn named<const MAX: usize>(name: &str) -> Result<Text<MAX>, ApiError> {
    Text::parse(name).map_err(|error| ApiError::internal(FAILED, error))
}

fn answer(record: TestChainRecord, outcome: TestChainOutcome) -> TestEventAnswer {
    let received = match outcome {
        TestChainOutcome::Chain { short_code, verdict } => {
            return TestEventAnswer::Chain {
                data: ChainAnswer {
                    r#type: "chain",
                    message: short_code.is_none().then_some(NO_LINK),
                    short_code,
                    customer_key: record.customer_key,
                    verdict,
                    attributed: verdict.is_attributed(),
                },
            };
        }
        TestChainOutcome::Event { received } => received,
    };
    let kind = match record.run {
        TestRun::Event(kind) => kind.as_str(),
        TestRun::Chain => "chain",
    };
    TestEventAnswer::Event {
        event_type: kind,
        event_id: record.event_id.to_string(),
        received,
        attributed: false,
        message: if received {
            "Test event received. Send type chain to check attribution."
        } else {
            NO_LINK
        },
    }
}
