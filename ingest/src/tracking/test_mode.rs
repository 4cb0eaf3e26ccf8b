//! Test mode: `additional_data.test_mode` on a click, a lead, a sale or a refund.
//!
//! The fields of a test event are validated like those of a real one. A test event needs no customer, claims
//! no transaction_id, and is stored as a marked row. Its program is the key's, otherwise the one that
//! `additional_data.program_id` names. A test refund is validated and answered, but not stored.

use chrono::{DateTime, Utc};
use domain::ids::{EventId, ProgramId};
use messages::test_event::{TestEvent, TestEventOutcome, TestEventRecord};
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::RawValue;
use utoipa::ToSchema;

use crate::app::App;
use crate::http::error::ApiError;
use crate::http::field::{Field, FieldType, refused};
use crate::tracking::caller::Caller;

/// `additional_data` as sent.
#[derive(Debug, Default)]
pub enum AdditionalData {
    #[default]
    Absent,
    Object(AdditionalFields),
    WrongType,
}

#[derive(Debug, Default, Deserialize, ToSchema)]
pub struct AdditionalFields {
    /// Records an isolated test event instead of a real one; a refund then takes nothing back.
    #[schema(value_type = Option<bool>)]
    test_mode: Field<bool>,
    /// Whose test event it is, where no key says so: a number, or the same in a string. Looked at in test mode only.
    #[schema(value_type = serde_json::Value, required = false, examples(1))]
    pub program_id: Field<ProgramId>,
    /// What the signup is called: text of at most 255 characters. Looked at on a lead only.
    #[schema(value_type = serde_json::Value, required = false, examples("signup"))]
    pub event_name: Field<String>,
}

/// The answer to a request in test mode.
#[derive(Debug, Serialize, ToSchema)]
pub struct TestAnswer {
    success: bool,
    message: &'static str,
    data: TestAnswerData,
}

#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct TestAnswerData {
    /// The id of the click, lead or sale event. A test refund stores nothing: null.
    #[schema(required = true)]
    event_id: Option<i64>,
    #[schema(value_type = i64)]
    program_id: ProgramId,
    #[serde(rename = "test_mode")]
    test_mode: bool,
}

impl AdditionalData {
    /// The fields; all absent if there is no `additional_data`.
    pub fn fields(self) -> Result<AdditionalFields, ApiError> {
        match self {
            Self::Absent => Ok(AdditionalFields::default()),
            Self::Object(fields) => Ok(fields),
            Self::WrongType => Err(refused("additional_data", "must be an object")),
        }
    }

    /// Whether the request asks for test mode, read before any validation.
    pub fn asks_for_test_mode(&self) -> bool {
        matches!(self, Self::Object(fields) if fields.test_mode == Field::Given(true))
    }
}

impl AdditionalFields {
    pub fn is_test(&self) -> Result<bool, ApiError> {
        self.test_mode.clone().flag("additional_data.test_mode")
    }
}

impl<'de> Deserialize<'de> for AdditionalData {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match Option::<&RawValue>::deserialize(deserializer)?.map(RawValue::get) {
            None => Ok(Self::Absent),
            Some(raw) if raw.starts_with('{') => serde_json::from_str(raw)
                .map(Self::Object)
                .map_err(D::Error::custom),
            Some(_) => Ok(Self::WrongType),
        }
    }
}

/// A program's number, or the number in a string: clients send both.
impl FieldType for ProgramId {
    fn from_integer(digits: &str) -> Option<Self> {
        digits.parse().ok().map(Self::new)
    }

    fn from_text(text: String) -> Option<Self> {
        text.parse().ok().map(Self::new)
    }
}

/// The program of a test event; `None` if neither a key nor `named` names one. `field` is the body's name for
/// it, `failed` is the route's message for a failed lookup.
///
/// An unknown token is ignored: test mode requires none.
pub async fn tested_program(
    app: &App,
    caller: Caller,
    named: Field<ProgramId>,
    field: &str,
    failed: &'static str,
) -> Result<Option<ProgramId>, ApiError> {
    let named = match named {
        Field::Absent => None,
        Field::Given(program_id) => Some(program_id),
        Field::WrongType => return Err(no_program(field)),
    };
    match (caller, named) {
        (Caller::Undecided(unavailable), _) => Err(ApiError::internal(failed, unavailable)),
        (Caller::Program(caller), Some(named)) if named != caller.program_id => {
            Err(ApiError::Forbidden(OTHER_PROGRAM))
        }
        (Caller::Program(caller), _) => Ok(Some(caller.program_id)),
        (_, None) => Ok(None),
        (_, Some(named)) => {
            // Limited, because anyone without a key could flood the program's live view from many addresses.
            app.limits.spend_keyless_test(named).await?;
            let exists = app.directory.has_program(named).await;
            if exists.map_err(|error| ApiError::internal(failed, error))? {
                Ok(Some(named))
            } else {
                Err(no_program(field))
            }
        }
    }
}

pub async fn record_test(
    app: &App,
    program_id: ProgramId,
    event: TestEvent,
    failed: &'static str,
) -> Result<TestAnswer, ApiError> {
    let message = match event {
        TestEvent::Click(_) => TEST_CLICK,
        TestEvent::Lead(_) => TEST_LEAD,
        TestEvent::Sale(_) => TEST_SALE,
    };
    let record = TestEventRecord {
        event_id: EventId::new(app.clock.mint()),
        happened_at: app.clock.now(),
        program_id,
        event,
    };
    let lane = &app.pipeline.test_events;
    let TestEventOutcome { row_id } = app
        .pipeline
        .publish_and_await(lane, Some(program_id), record.event_id, &record, failed)
        .await?;
    Ok(TestAnswer::new(message, Some(row_id), program_id))
}

impl TestAnswer {
    /// The answer to a test refund, which stores nothing.
    pub fn of_refund(program_id: ProgramId) -> Self {
        Self::new(TEST_REFUND, None, program_id)
    }

    fn new(message: &'static str, event_id: Option<i64>, program_id: ProgramId) -> Self {
        Self {
            success: true,
            message,
            data: TestAnswerData {
                event_id,
                program_id,
                test_mode: true,
            },
        }
    }

    /// An example for the description.
    pub fn example(message: &'static str) -> Self {
        Self::new(message, Some(17), ProgramId::new(1))
    }
}

pub const TEST_CLICK: &str = "Test click event tracked successfully";
pub const TEST_LEAD: &str = "Test lead event tracked successfully";
pub const TEST_SALE: &str = "Test sale event tracked successfully";
const TEST_REFUND: &str = "Test refund event tracked successfully";
pub const OTHER_PROGRAM: &str = "program_id does not match the API key";

/// The field of a tracking body that names the program of a test event.
pub const PROGRAM_ID: &str = "additional_data.program_id";

pub fn no_program(field: &str) -> ApiError {
    refused(field, "must name a program")
}

/// The transaction_id of a test sale sent without one. Two test sales in one millisecond share it; test rows
/// need no unique transaction_id.
pub fn generated_transaction_id(now: DateTime<Utc>) -> String {
    format!("test_txn_{}", now.timestamp_millis())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Deserialize)]
    struct Body {
        additional_data: AdditionalData,
    }

    fn read(json: &str) -> AdditionalData {
        serde_json::from_str::<Body>(json).unwrap().additional_data
    }

    #[test]
    fn null_is_absent_and_only_an_object_is_read() {
        for json in ["{}", r#"{"additional_data": null}"#] {
            assert!(!read(json).fields().unwrap().is_test().unwrap(), "{json}");
        }
        for value in ["[true]", "[]", "true", "\"{}\"", "7", "7.5"] {
            let data = read(&format!(r#"{{"additional_data": {value}}}"#));
            assert!(!data.asks_for_test_mode());
            assert_eq!(
                data.fields().unwrap_err().to_string(),
                "additional_data must be an object",
                "{value}"
            );
        }
    }

    #[test]
    fn test_mode_is_a_boolean_and_nothing_like_one() {
        assert!(read(r#"{"additional_data": {"test_mode": true}}"#).asks_for_test_mode());
        for value in ["1", "\"true\"", "{}"] {
            let data = read(&format!(r#"{{"additional_data": {{"test_mode": {value}}}}}"#));
            assert!(!data.asks_for_test_mode());
            let refusal = data.fields().unwrap().is_test().unwrap_err();
            assert_eq!(refusal.to_string(), "additional_data.test_mode must be a boolean");
        }
    }

    #[test]
    fn a_program_is_named_by_number_or_numeric_string() {
        let named = |value: &str| {
            let data = read(&format!(r#"{{"additional_data": {{"program_id": {value}}}}}"#));
            data.fields().unwrap().program_id
        };
        assert_eq!(named("7"), Field::Given(ProgramId::new(7)));
        assert_eq!(named("\"7\""), Field::Given(ProgramId::new(7)));
        assert_eq!(named("null"), Field::Absent);
        for value in ["7.5", "\"seven\"", "[7]", "true", "\"\""] {
            assert_eq!(named(value), Field::WrongType, "{value}");
        }
    }
}
