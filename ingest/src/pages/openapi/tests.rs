use std::collections::BTreeSet;
use std::path::PathBuf;

use domain::programs::outbound_event::OutboundEventType;
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

/// Of a schema that may refer to components.
fn validator(api: &Value, schema: &Value) -> jsonschema::Validator {
    let mut schema = schema.clone();
    schema["components"] = api["components"].clone();
    let options = jsonschema::options().should_validate_formats(true);
    options.build(&schema).unwrap()
}

/// The name of the schema that is referred to.
fn name_in(part: &Value) -> Option<&str> {
    part["$ref"].as_str()?.strip_prefix("#/components/schemas/")
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
            let validator = validator(&api, &body["schema"]);
            let examples = examples(body);
            assert!(!examples.is_empty(), "{operation}: no example of {name}");
            for (example, about) in &examples {
                let errors: Vec<_> = validator
                    .iter_errors(&about["value"])
                    .map(|error| error.to_string())
                    .collect();
                assert!(errors.is_empty(), "{operation}, {name}, {example}: {errors:?}");
                if let Some(status) = about["value"].pointer("/error/status").and_then(Value::as_u64) {
                    assert_eq!(name, status.to_string(), "{operation}: {example}");
                }
            }
        }
    }
}

#[test]
fn values_of_examples_are_of_schemas_and_fields_that_exist() {
    let api = described();
    let values: Map<String, Value> = serde_json::from_str(examples::VALUES).unwrap();
    let text = api.to_string();
    for (name, value) in values {
        let exists = match name.split_once('.') {
            Some((schema, field)) => {
                let schema = &api["components"]["schemas"][schema];
                schema.is_object() && schema.to_string().contains(&format!("\"{field}\":"))
            }
            None => text.contains(&format!("\"{name}\":")),
        };
        assert!(exists, "{name}: {value}");
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
        let validator = validator(&api, &body["schema"]);
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
    let named = |name: &str| validator(&api, &json!({ "$ref": format!("#/components/schemas/{name}") }));
    let (clicks, events) = (named("ClickRecorded"), named("StreamEvent"));
    assert!(clicks.is_valid(click) && events.is_valid(click), "{click}");
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
            let validator = validator(&api, &body["schema"]);
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

#[tokio::test]
async fn the_served_description_names_the_contracts_version_its_server_and_credentials() {
    let served = openapi_json().await.into_response();
    let body = axum::body::to_bytes(served.into_body(), usize::MAX)
        .await
        .unwrap();
    let api: Value = serde_json::from_slice(&body).unwrap();
    assert_eq!(api["info"]["version"], "1.0.0");
    assert_eq!(api["servers"], json!([{ "url": "/" }]));
    // An operation without credentials of its own takes none.
    assert_eq!(api["security"], json!([]));
}

/// Client generators leave out an answer that combines a choice with an object.
#[test]
fn each_form_of_a_tracking_answer_has_its_warnings_itself() {
    let api = described();
    let schemas = &api["components"]["schemas"];
    for call in ["click", "lead", "sale", "refund"] {
        let operation = &api["paths"][format!("/api/v1/track/{call}")]["post"];
        let answer = &operation["responses"]["200"]["content"]["application/json"]["schema"];
        for form in schemas[name_in(answer).unwrap()]["oneOf"].as_array().unwrap() {
            let form = &schemas[name_in(form).unwrap()];
            assert_eq!(form["properties"]["warnings"]["type"], "array", "{call}: {form}");
        }
    }
}

/// Each of these stopped openapi-generator, openapi-python-client or openapi-typescript, or cost an
/// operation.
#[test]
fn the_description_has_nothing_that_generators_of_clients_cannot_express() {
    let api = described();
    let mut parts = vec![(String::new(), &api)];
    let (mut arrays, mut choices, mut words) = (0, 0, 0);
    while let Some((at, part)) = parts.pop() {
        assert_ne!(part["type"], "null", "{at}: not in a choice");
        assert!(part.get("const").is_none(), "{at}: no enum");
        let types = part["type"].as_array().cloned().unwrap_or_default();
        if part["type"] == "array" || types.contains(&json!("array")) {
            assert!(part.get("items").is_some(), "{at}: of what?");
            arrays += 1;
        }
        for alternative in part["oneOf"].as_array().into_iter().flatten() {
            let has_parts = ["properties", "allOf", "oneOf", "anyOf"]
                .iter()
                .any(|key| alternative.get(key).is_some());
            assert!(!has_parts, "{at}: an alternative without a name");
            choices += 1;
        }
        if let Some(pattern) = part["pattern"].as_str() {
            let letters = pattern.trim_matches(|c| "^()?$".contains(c));
            let lists_words = pattern.ends_with('$')
                && letters
                    .chars()
                    .all(|c| c.is_ascii_lowercase() || "_|".contains(c));
            assert!(!lists_words, "{at}: {pattern} is no enum");
        }
        words += usize::from(part.get("enum").is_some());
        for (name, link) in part["links"].as_object().into_iter().flatten() {
            assert!(!link["requestBody"].is_object(), "{at}: the body of {name}");
        }
        match part {
            Value::Object(fields) => {
                let schemas = fields.iter().filter(|(key, _)| !key.starts_with("example"));
                parts.extend(schemas.map(|(key, field)| (format!("{at}/{key}"), field)));
            }
            Value::Array(items) => {
                let is_alternative = at.ends_with("/oneOf");
                let items = items
                    .iter()
                    .filter(|item| !is_alternative || item["type"] != "null");
                parts.extend(items.map(|item| (at.clone(), item)));
            }
            _ => {}
        }
    }
    assert!(
        arrays > 50 && choices > 50 && words > 30,
        "{arrays}, {choices}, {words}"
    );
}

#[test]
fn every_schema_is_referred_to_and_every_reference_is_to_one() {
    let api = described();
    let schemas: BTreeSet<_> = api["components"]["schemas"].as_object().unwrap().keys().collect();
    let mut referred = BTreeSet::new();
    let mut parts = vec![&api];
    while let Some(part) = parts.pop() {
        referred.extend(name_in(part));
        match part {
            Value::Object(fields) => parts.extend(fields.values()),
            Value::Array(items) => parts.extend(items),
            _ => {}
        }
    }
    assert_eq!(
        schemas.into_iter().map(String::as_str).collect::<BTreeSet<_>>(),
        referred
    );
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
