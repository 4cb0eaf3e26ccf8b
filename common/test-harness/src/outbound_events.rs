//! Outbound events: the types that a program wants, and the events that were written.

use std::path::PathBuf;
use std::sync::LazyLock;

use domain::programs::outbound_event::{OutboundEventType, WantedEvents};
use serde_json::Value;
use testing::jsonschema;

use crate::program::Program;
use crate::rows;
use crate::stack::Stack;

/// The committed description of the API.
static API: LazyLock<Value> = LazyLock::new(|| {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/openapi.json");
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
});

/// Makes the program want these types of events.
pub async fn want(stack: &Stack, program: &Program, types: &[OutboundEventType]) {
    let wanted: WantedEvents = types.iter().copied().collect();
    let wanted = format!("wanted_events = {}", wanted.bits());
    rows::set(stack, program, &wanted).await;
}

/// Makes the program want all types of events.
pub async fn want_all(stack: &Stack, program: &Program) {
    want(stack, program, &OutboundEventType::ALL).await;
}

/// The bodies of a program's events, in order. Asserts that each body fits the API description and agrees
/// with its row.
pub async fn outbound_bodies(stack: &Stack, program: &Program) -> Vec<Value> {
    let rows: Vec<(String, String, i64)> = sqlx::query_as(
        "SELECT event_type, body, program_id FROM outbound_events WHERE program_id = $1 ORDER BY id",
    )
    .bind(program.program_id.get())
    .fetch_all(stack.pool())
    .await
    .unwrap();
    rows.into_iter()
        .map(|(event_type, body, program_id)| {
            let body: Value = serde_json::from_str(&body).unwrap();
            assert_eq!(body["type"], event_type.as_str());
            assert_eq!(body["data"]["program_id"], program_id);
            is_as_described(&event_type, &body);
            body
        })
        .collect()
}

/// The types of a program's events, in order.
pub async fn outbound_types(stack: &Stack, program: &Program) -> Vec<String> {
    let bodies = outbound_bodies(stack, program).await;
    let types = bodies
        .iter()
        .map(|body| body["type"].as_str().unwrap().to_owned());
    types.collect()
}

fn is_as_described(event_type: &str, body: &Value) {
    let described =
        &API["webhooks"][event_type]["post"]["requestBody"]["content"]["application/json"]["schema"];
    assert!(described.is_object(), "{event_type} is not described");
    let mut schema = described.clone();
    schema["components"] = API["components"].clone();
    let validator = jsonschema::options()
        .should_validate_formats(true)
        .build(&schema)
        .unwrap();
    let errors: Vec<_> = validator
        .iter_errors(body)
        .map(|error| error.to_string())
        .collect();
    assert!(errors.is_empty(), "{body}: {errors:?}");
}
