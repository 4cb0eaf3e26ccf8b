//! What others are told of a program: who wants it, and what was written for them.

use std::path::PathBuf;
use std::sync::LazyLock;

use domain::outbound_event::{OutboundEventType, WantedEvents};
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

/// From now on somebody wants these events of the program.
pub async fn want(stack: &Stack, program: &Program, types: &[OutboundEventType]) {
    let wanted: WantedEvents = types.iter().copied().collect();
    let wanted = format!("wanted_events = {}", wanted.bits());
    rows::set(stack, program, &wanted).await;
}

/// From now on somebody wants all events of the program.
pub async fn want_all(stack: &Stack, program: &Program) {
    want(stack, program, &OutboundEventType::ALL).await;
}

/// The bodies of a program's events, in their order. Each is what the description of the API says, and its row agrees with it.
pub async fn told(stack: &Stack, program: &Program) -> Vec<Value> {
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

/// The types of a program's events, in their order.
pub async fn told_types(stack: &Stack, program: &Program) -> Vec<String> {
    let told = told(stack, program).await;
    let types = told.iter().map(|body| body["type"].as_str().unwrap().to_owned());
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
