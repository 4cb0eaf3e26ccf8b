use std::collections::BTreeSet;
use std::path::PathBuf;

use domain::outbound_event::OutboundEventType;
use serde_json::{Map, Value, json};
use testing::jsonschema;

use super::*;
use crate::http::endpoint::Endpoint;

fn described() -> Value {
    serde_json::from_str(&DOCUMENT).unwrap()
}

/// Name, as `POST /path`, and description of each operation.
fn operations(api: &Value) -> Vec<(String, &Value)> {
    let paths = api["paths"].as_object().unwrap().iter();
    paths
        .flat_map(|(path, methods)| {
            let methods = methods.as_object().unwrap().iter();
            methods.map(move |(method, operation)| (format!("{} {path}", method.to_uppercase()), operation))
        })
        .collect()
}

/// The media types of an operation's request and answers, each with its name.
fn bodies(operation: &Value) -> Vec<(String, &Value)> {
    let request = [("request".to_owned(), &operation["requestBody"])];
    let answers = operation["responses"].as_object().unwrap().iter();
    request
        .into_iter()
        .chain(answers.map(|(status, answer)| (status.clone(), answer)))
        .filter_map(|(name, body)| Some((name, body.get("content")?.get("application/json")?)))
        .collect()
}

fn examples(body: &Value) -> Map<String, Value> {
    body.get("examples")
        .and_then(Value::as_object)
        .cloned()
        .unwrap_or_default()
}

#[test]
fn the_committed_description_is_the_servers() {
    let committed = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../docs/openapi.json");
    if std::env::var_os("UPDATE_OPENAPI").is_some() {
        std::fs::write(&committed, DOCUMENT.as_str()).unwrap();
    }
    assert!(
        std::fs::read_to_string(&committed).unwrap_or_default() == *DOCUMENT,
        "docs/openapi.json is out of date: run `UPDATE_OPENAPI=1 cargo test -p ingest --lib openapi`"
    );
}

#[test]
fn every_endpoint_is_described_under_a_path_of_its_own() {
    let api = described();
    let endpoints = endpoints();
    let paths: BTreeSet<_> = endpoints.iter().map(Endpoint::path).collect();
    let described: BTreeSet<_> = api["paths"]
        .as_object()
        .unwrap()
        .keys()
        .map(String::as_str)
        .collect();
    assert_eq!(described, paths);
    assert_eq!(endpoints.len(), paths.len());
    for (path, item) in api["paths"].as_object().unwrap() {
        assert!(!item.as_object().unwrap().is_empty(), "{path} has no operation");
    }
}

#[test]
fn operations_have_a_name_a_summary_and_a_tag_that_is_explained() {
    let api = described();
    let tags: BTreeSet<_> = api["tags"]
        .as_array()
        .unwrap()
        .iter()
        .map(|tag| &tag["name"])
        .map(Value::to_string)
        .collect();
    let mut names = BTreeSet::new();
    for (operation, about) in operations(&api) {
        assert!(
            names.insert(about["operationId"].as_str().unwrap()),
            "{operation}"
        );
        assert!(!about["summary"].as_str().unwrap().is_empty(), "{operation}");
        let its: Vec<_> = about["tags"]
            .as_array()
            .unwrap()
            .iter()
            .map(Value::to_string)
            .collect();
        assert!(its.len() == 1 && tags.contains(&its[0]), "{operation}: {its:?}");
    }
}

#[test]
fn every_body_has_examples_and_they_are_valid() {
    let api = described();
    for (operation, about) in operations(&api) {
        for (name, body) in bodies(about) {
            let mut schema = body["schema"].clone();
            schema["components"] = api["components"].clone();
            let validator = jsonschema::options()
                .should_validate_formats(true)
                .build(&schema)
                .unwrap();
            let examples = examples(body);
            assert!(!examples.is_empty(), "{operation}: no example of {name}");
            for (example, about) in &examples {
                let errors: Vec<_> = validator
                    .iter_errors(&about["value"])
                    .map(|error| error.to_string())
                    .collect();
                assert!(errors.is_empty(), "{operation}, {name}, {example}: {errors:?}");
            }
        }
    }
}

#[test]
fn every_type_of_event_is_a_webhook_with_a_valid_example() {
    let api = described();
    let webhooks = api["webhooks"].as_object().unwrap();
    let types: BTreeSet<&str> = OutboundEventType::ALL.map(OutboundEventType::as_str).into();
    let described: BTreeSet<&str> = webhooks.keys().map(String::as_str).collect();
    assert_eq!(described, types);
    for (event_type, webhook) in webhooks {
        let (_, body) = bodies(&webhook["post"]).remove(0);
        let mut schema = body["schema"].clone();
        schema["components"] = api["components"].clone();
        let validator = jsonschema::options()
            .should_validate_formats(true)
            .build(&schema)
            .unwrap();
        let errors: Vec<_> = validator
            .iter_errors(&body["example"])
            .map(|error| error.to_string())
            .collect();
        assert!(errors.is_empty(), "{event_type}: {errors:?}");
        // The schema refuses a body that it does not describe.
        let mut misnamed = body["example"].clone();
        misnamed["type"] = json!("sale");
        assert!(!validator.is_valid(&misnamed), "{event_type}");
        misnamed = body["example"].clone();
        misnamed["data"] = json!({ "program_id": "1" });
        assert!(!validator.is_valid(&misnamed), "{event_type}");
    }
}

/// Only the event stream has clicks; webhooks do not.
#[test]
fn a_click_of_the_event_stream_has_a_schema_and_a_valid_example() {
    let api = described();
    let path = "/api/advertiser/affiliate-programs/{program_id}/event-stream";
    let (_, body) = bodies(&api["paths"][path]["get"])
        .into_iter()
        .find(|(status, _)| status == "200")
        .unwrap();
    let events: Vec<Value> = examples(body)
        .values()
        .flat_map(|example| example["value"]["data"].as_array().unwrap().clone())
        .collect();
    let click = events
        .iter()
        .find(|event| event["type"] == "click.recorded")
        .unwrap();
    let validator = |schema: &str| {
        let schema =
            json!({ "$ref": format!("#/components/schemas/{schema}"), "components": api["components"] });
        jsonschema::validator_for(&schema).unwrap()
    };
    let (clicks, events) = (validator("ClickRecorded"), validator("StreamEvent"));
    assert!(clicks.is_valid(click) && events.is_valid(click), "{click}");
    assert_eq!(&api["components"]["schemas"]["ClickRecorded"]["example"], click);
    for (at, wrong) in [
        ("/type", json!("lead.created")),
        ("/data", json!({ "program_id": 1 })),
        ("/data/counted", json!("yes")),
    ] {
        let mut other = click.clone();
        *other.pointer_mut(at).unwrap() = wrong;
        assert!(!clicks.is_valid(&other), "{at}");
    }
    let mut unknown = click.clone();
    unknown["type"] = json!("click.made");
    assert!(!events.is_valid(&unknown));
}

#[test]
fn a_schema_is_not_so_wide_that_everything_is_valid() {
    let api = described();
    for (operation, about) in operations(&api) {
        for (name, body) in bodies(about) {
            let mut schema = body["schema"].clone();
            schema["components"] = api["components"].clone();
            let validator = jsonschema::validator_for(&schema).unwrap();
            assert!(!validator.is_valid(&json!(true)), "{operation}: {name}");
        }
    }
}

#[test]
fn answers_to_a_key_that_works_may_hold_warnings_and_others_may_not() {
    let api = described();
    let warns = |operation: &Value, status: &str| {
        operation["responses"][status]["content"]["application/json"]["schema"]
            .to_string()
            .contains("RotationNotice")
    };
    let readiness = &api["paths"]["/api/v1/programs/me/readiness"]["get"];
    assert!(warns(readiness, "200") && !warns(readiness, "401") && !warns(readiness, "429"));
    assert!(!warns(&api["paths"]["/readyz"]["get"], "200"));
}

/// Client generators leave out an answer that combines a choice with an object, and an operation whose array
/// has no item type.
#[test]
fn the_tracking_calls_have_what_generators_of_clients_need() {
    let api = described();
    let schemas = &api["components"]["schemas"];
    let calls = ["click", "lead", "sale", "refund"];
    for call in calls {
        let operation = &api["paths"][format!("/api/v1/track/{call}")]["post"];
        let answer = operation["responses"]["200"]["content"]["application/json"]["schema"]["$ref"].as_str();
        let forms = &schemas[answer.unwrap().rsplit('/').next().unwrap()]["oneOf"];
        for form in forms.as_array().unwrap() {
            let form = match form["$ref"].as_str() {
                Some(name) => &schemas[name.rsplit('/').next().unwrap()],
                None => form,
            };
            assert_eq!(form["properties"]["warnings"]["type"], "array", "{call}: {form}");
        }
    }
    let mut arrays = 0;
    let mut parts = vec![&api];
    while let Some(part) = parts.pop() {
        let is_array = part["type"] == "array"
            || part["type"]
                .as_array()
                .is_some_and(|its| its.contains(&json!("array")));
        assert!(!is_array || part.get("items").is_some(), "{part}");
        arrays += usize::from(is_array);
        match part {
            Value::Object(fields) => parts.extend(fields.values()),
            Value::Array(items) => parts.extend(items),
            _ => {}
        }
    }
    assert!(arrays > 50, "{arrays}");
}

#[test]
fn status_carries_a_request_id_on_failure_only() {
    let api = described();
    let answers = api["paths"]["/api/v1/cli/status"]["get"]["responses"]
        .as_object()
        .unwrap();
    let with_id = |answer: &Value| answer["headers"].get("X-Request-ID").is_some();
    let with_id: Vec<_> = answers
        .iter()
        .filter(|(_, answer)| with_id(answer))
        .map(|(status, _)| status)
        .collect();
    assert_eq!(with_id, ["500"]);
}
