//! What holds for every fixture, and for events that nobody would send.

use proptest::prelude::*;

use super::*;

/// The names of the fixtures, without their shapes.
fn names() -> BTreeSet<String> {
    let files = std::fs::read_dir(fixtures()).unwrap();
    files
        .map(|file| file.unwrap().file_name().into_string().unwrap())
        .map(|file| file.trim_end_matches(".json").to_owned())
        .map(|file| {
            let shape = [ACACIA, BASIL].into_iter().find(|shape| file.ends_with(shape));
            file.trim_end_matches(shape.unwrap())
                .trim_end_matches('.')
                .to_owned()
        })
        .collect()
}

#[test]
fn every_event_is_there_in_both_shapes() {
    let names = names();
    assert_eq!(names.len(), 26);
    for name in names {
        let body = fixture(&name, BASIL);
        assert_ne!(meaning(&body), "unknown", "{name}");
        assert!(body["api_version"].as_str().unwrap().ends_with(BASIL));
        // Only the later shape has this event.
        if name != "invoice_payment.paid" {
            let earlier = fixture(&name, ACACIA);
            assert!(earlier["api_version"].as_str().unwrap().ends_with(ACACIA));
        }
    }
}

/// The paths of all values in an event's object.
fn paths(at: &Value, path: &str, found: &mut Vec<String>) {
    let inside: Vec<(String, &Value)> = match at {
        Value::Object(fields) => fields.iter().map(|(name, value)| (name.clone(), value)).collect(),
        Value::Array(items) => items
            .iter()
            .enumerate()
            .map(|(at, item)| (at.to_string(), item))
            .collect(),
        _ => Vec::new(),
    };
    for (name, value) in inside {
        let path = format!("{path}/{name}");
        paths(value, &path, found);
        found.push(path);
    }
}

#[test]
fn another_type_in_any_field_is_understood_or_stuck_and_never_a_panic() {
    let values = [
        Value::Null,
        json!(true),
        json!(-7),
        json!(1.5),
        json!(1e300),
        json!("odd"),
        json!([[]]),
        json!({ "id": {} }),
    ];
    for name in names() {
        let event = fixture(&name, BASIL);
        let mut found = Vec::new();
        paths(&event["data"]["object"], "/data/object", &mut found);
        for path in found {
            for value in &values {
                let mut event = event.clone();
                *event.pointer_mut(&path).unwrap() = value.clone();
                assert_ne!(meaning(&event), "unknown", "{name} {path}");
            }
        }
    }
}

proptest! {
    #[test]
    fn no_object_panics(kind in 0..13usize, object in ".{0,60}", inner in any::<i64>()) {
        let kinds = ["checkout.session.completed", "invoice.paid", "charge.refunded", "account.updated", "refund.failed",
                     "charge.succeeded", "invoice_payment.paid", "charge.dispute.funds_withdrawn", "charge.refund.updated",
                     "customer.subscription.deleted", "account.application.deauthorized", "charge.dispute.funds_reinstated",
                     "checkout.session.async_payment_succeeded"];
        for object in [json!(object), json!({ "id": object, "amount": inner }), json!([object])] {
            let _ = meaning(&json!({ "id": "evt_1", "type": kinds[kind], "created": 1, "livemode": true, "data": { "object": object } }));
        }
    }
}
