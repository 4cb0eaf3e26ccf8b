//! `POST /api/v1/cli/test-event`: tests an integration with a synthetic click, lead and sale.
//!
//! The older form of the request stores a single event as a test row, without attribution.

use axum::Json;
use axum::extract::State;
use domain::ids::{EventId, ProgramId};
use domain::text::{CustomerKey, Text};
use domain::tracking::test_chain::{ChainVerdict, TestEventType, TestRun, Verdict};
use messages::test_chain::{TestChainOutcome, TestChainRecord};
use serde::{Deserialize, Serialize};
use serde_json::json;
use utoipa::ToSchema;
use utoipa::openapi::schema::{Object, ObjectBuilder, OneOfBuilder, Schema, Type};

use crate::app::App;
use crate::http::body::{RequestBody, parse};
use crate::http::error::ApiError;
use crate::http::field::{Field, IdNumber};
use crate::http::openapi::envelopes::PlatformError;
use crate::http::openapi::examples::Examples;
use crate::http::request_id::RequestId;
use crate::tracking::caller::Caller;
use crate::tracking::test_mode::OTHER_PROGRAM;

const FAILED: &str = "Test event failed";
const RECEIVED: &str = "Test event received. Send type chain to check attribution.";
const NO_LINK: &str = "The program has no active referral link of an approved partner. Approve a partner, or turn one of their links on, \
                       and test again.";

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct TestEventRequest {
    r#type: Field<String>,
    event_type: Field<String>,
    program_id: Field<IdNumber>,
}

/// The two forms of the request, for the description.
#[expect(dead_code, reason = "described, never built: the request is read leniently")]
#[derive(ToSchema)]
#[schema(as = TestEventRequest)]
#[serde(untagged)]
enum TestEventForms {
    /// Click, lead and sale, one after the other.
    #[schema(title = "ChainToTest")]
    Chain {
        #[schema(pattern = "^chain$")]
        r#type: String,
        /// The key's own program; it need not be named.
        #[schema(schema_with = program_number, required = false)]
        program_id: (),
    },
    /// One event, without attribution.
    #[schema(title = "EventToTest")]
    Event {
        #[schema(pattern = "^(click|lead|sale)$")]
        event_type: String,
        /// The key's own program; it need not be named.
        #[schema(schema_with = program_number, required = false)]
        program_id: (),
    },
}

#[derive(Debug, Serialize, ToSchema)]
#[serde(untagged)]
pub enum TestEventAnswer {
    #[schema(title = "TestedChain")]
    Chain { data: ChainAnswer },
    #[schema(title = "TestedEvent")]
    Event {
        #[schema(pattern = "^(click|lead|sale)$")]
        event_type: &'static str,
        #[schema(format = "uuid")]
        event_id: String,
        /// False when the program has no link over which the event could have come.
        received: bool,
        /// Always false: a single event is not attributed.
        attributed: bool,
        message: &'static str,
    },
}

#[derive(Debug, Serialize, ToSchema)]
pub struct ChainAnswer {
    #[schema(pattern = "^chain$")]
    r#type: &'static str,
    /// The link the chain ran over; null when the program has none that could be used.
    #[schema(required = true)]
    short_code: Option<String>,
    /// Of the synthetic customer.
    #[schema(value_type = String)]
    customer_key: CustomerKey,
    #[schema(value_type = ChainVerdictSchema)]
    verdict: ChainVerdict,
    /// The whole chain reached the partner of the link.
    attributed: bool,
    /// Why it is not attributed, for people; absent when it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = String, required = false)]
    message: Option<String>,
}

/// The attribution of each event. `attributed`: to the partner whose link was used; `unattributed`: to no partner, or the event
/// was refused; `wrong_partner`: to another partner; `pending`: not decided yet.
#[expect(dead_code, reason = "described, never built: the domain writes it")]
#[derive(ToSchema)]
#[schema(as = ChainVerdict)]
struct ChainVerdictSchema {
    #[schema(pattern = "^(attributed|unattributed|wrong_partner|pending)$")]
    click: String,
    #[schema(pattern = "^(attributed|unattributed|wrong_partner|pending)$")]
    lead: String,
    #[schema(pattern = "^(attributed|unattributed|wrong_partner|pending)$")]
    sale: String,
}

/// Test the integration
///
/// A synthetic click, lead and sale pass through the real pipeline, and the answer says whether each was attributed to the right
/// partner. They are not counted and not paid. At most ten chains an hour for a program.
#[utoipa::path(
    post,
    path = "/api/v1/cli/test-event",
    tag = "set-up",
    security(("program_key" = [])),
    request_body = TestEventForms,
    responses(
        (status = 200, description = "Tried out.", body = TestEventAnswer),
        (status = 403, description = "The key is of another program.", body = PlatformError),
    )
)]
pub async fn test_event(
    State(app): State<App>,
    request_id: RequestId,
    caller: Caller,
    body: RequestBody,
) -> Result<Json<TestEventAnswer>, ApiError> {
    try_out(&app, caller, body)
        .await
        .map_err(|error| error.quoting(&request_id))
}

async fn try_out(app: &App, caller: Caller, body: RequestBody) -> Result<Json<TestEventAnswer>, ApiError> {
    let program_id = caller.program("Missing API token", FAILED)?.program_id;
    let bytes = body.bytes()?;
    let run = parse::<TestEventRequest>(&bytes)?.validate(program_id)?;
    if run == TestRun::Chain {
        app.limits.spend_chain(program_id).await?;
    }
    let record = record(app, program_id, run)?;
    let lane = &app.pipeline.test_chains;
    let outcome = app
        .pipeline
        .publish_and_await(lane, Some(program_id), record.event_id, &record, FAILED)
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
        let run = run.ok_or(UNKNOWN_FORM)?;
        match self.program_id {
            Field::Absent => Ok(run),
            Field::Given(IdNumber(named)) if named == program_id.get() => Ok(run),
            Field::Given(_) => Err(ApiError::Forbidden(OTHER_PROGRAM)),
            Field::WrongType => Err(ApiError::bad_request("program_id must be an integer")),
        }
    }
}

const UNKNOWN_FORM: ApiError =
    ApiError::refusal("type must be chain, or event_type one of click, lead and sale");

/// Each run has a synthetic customer of its own.
fn record(app: &App, program_id: ProgramId, run: TestRun) -> Result<TestChainRecord, ApiError> {
    let started_at = app.clock.now();
    let (customer_id, click_id) = app.customer_ids.issue(started_at)?;
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
                    message: match short_code {
                        None => Some(NO_LINK.to_owned()),
                        Some(_) => not_attributed(verdict),
                    },
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
        message: if received { RECEIVED } else { NO_LINK },
    }
}

/// A sentence that says where the chain broke; `None` if it did not.
fn not_attributed(verdict: ChainVerdict) -> Option<String> {
    let events = [
        ("click", verdict.click),
        ("signup", verdict.lead),
        ("sale", verdict.sale),
    ];
    let (noun, broken) = events
        .into_iter()
        .find(|(_, verdict)| *verdict != Verdict::Attributed)?;
    Some(match broken {
        Verdict::WrongPartner => {
            format!("The test {noun} was attributed to another partner than the link's.")
        }
        Verdict::Pending => format!("The test {noun} is not decided yet. Test again in a minute."),
        Verdict::Attributed | Verdict::Unattributed => format!(
            "The test {noun} was attributed to nobody. Check that the program is not archived, that the link is on and its partner \
             approved, and test again."
        ),
    })
}

pub fn examples() -> Examples {
    let chain = CustomerKey::parse("test_chain_019ab2c3d4e57f60a1b2c3d4e5f60718")
        .ok()
        .map(|customer_key| TestEventAnswer::Chain {
            data: ChainAnswer {
                r#type: "chain",
                short_code: Some("ada".to_owned()),
                customer_key,
                verdict: ChainVerdict::uniform(Verdict::Attributed),
                attributed: true,
                message: None,
            },
        });
    let event = TestEventAnswer::Event {
        event_type: "sale",
        event_id: "019ab2c3-d4e5-7f60-a1b2-c3d4e5f60718".to_owned(),
        received: true,
        attributed: false,
        message: RECEIVED,
    };
    Examples::default()
        .request("A chain", json!({ "type": "chain" }))
        .request("A single event", json!({ "event_type": "sale" }))
        .answer("A chain", chain)
        .answer("A single event", event)
        .refusal(&UNKNOWN_FORM)
        .refusal(&ApiError::Forbidden(OTHER_PROGRAM))
        .refusal(&ApiError::quoted_example(FAILED))
}

/// A program's id, as a number or in quotes.
pub fn program_number() -> Schema {
    OneOfBuilder::new()
        .item(Object::with_type(Type::Integer))
        .item(
            ObjectBuilder::new()
                .schema_type(Type::String)
                .pattern(Some("^-?[0-9]+$")),
        )
        .item(Object::with_type(Type::Null))
        .into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chain_that_breaks_says_where() {
        let whole = ChainVerdict::uniform(Verdict::Attributed);
        assert_eq!(not_attributed(whole), None);
        let (sale, lead) = (Verdict::WrongPartner, Verdict::Pending);
        for (verdict, says) in [
            (
                ChainVerdict::uniform(Verdict::Unattributed),
                "The test click was attributed to nobody.",
            ),
            (
                ChainVerdict { lead, sale, ..whole },
                "The test signup is not decided yet.",
            ),
            (
                ChainVerdict { sale, ..whole },
                "The test sale was attributed to another partner",
            ),
        ] {
            let message = not_attributed(verdict).unwrap();
            assert!(message.starts_with(says), "{message}");
        }
    }

    #[test]
    fn the_examples_ask_for_something() {
        for body in examples().requests() {
            let request: TestEventRequest = parse(&body).unwrap();
            request.validate(ProgramId::new(1)).unwrap();
        }
    }
}
