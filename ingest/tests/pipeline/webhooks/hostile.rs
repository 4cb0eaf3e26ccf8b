//! Signed bodies that are not events, and requests that are not webhooks.

use futures::future::join_all;
use reqwest::{Method, StatusCode};
use runtime::clock::Clock;
use serde_json::{Value, json};
use test_harness::{
    Answer,
    hooks::{ACCOUNT, DISTRIBUTOR, DISTRIBUTOR_SECRET, Hooks, SECRET, event, header, nothing_stored, path},
};

const NOT_AN_EVENT: &str = "Request body must be a Stripe event";
const MIB: usize = 1 << 20;

#[tokio::test]
async fn what_is_signed_but_no_event_is_refused_and_leaves_no_row() {
    let (stack, hooks, program) = Hooks::with_program().await;
    let good = event(&stack, "checkout.session.completed.basil", &program, "user-1").to_string();
    let deep =
        |opening: &str, closing: &str| format!("{}{}", opening.repeat(100_000), closing.repeat(100_000));
    let mut no_utf8 = good.clone().into_bytes();
    let at = good.find("Utrecht").unwrap();
    no_utf8[at] = 0xff;
    let bodies: Vec<Vec<u8>> = vec![
        Vec::new(),
        b"null".to_vec(),
        b"[]".to_vec(),
        b"{}".to_vec(),
        b"{\"id\":\"evt_1\"".to_vec(),
        format!("[{good}]").into_bytes(),
        good.as_bytes()[1..].to_vec(),
        format!("{good}{good}").into_bytes(),
        format!("\u{feff}{good}").into_bytes(),
        good.replacen('{', "{\"id\":\"evt_2\",", 1).into_bytes(),
        good.encode_utf16().flat_map(u16::to_le_bytes).collect(),
        no_utf8,
        deep("[", "]").into_bytes(),
        deep("{\"a\":", "}").into_bytes(),
        vec![0; MIB],
        vec![b'{'; MIB],
    ];
    let now = stack.clock.now().timestamp();
    for body in bodies {
        for (path, secret) in [
            (path(&program).as_str(), SECRET),
            (DISTRIBUTOR, DISTRIBUTOR_SECRET),
        ] {
            let header = header(secret, now, &body);
            let answer = hooks.send(path, &[&header], body.clone()).await;
            answer.refused(400, NOT_AN_EVENT);
        }
    }
    nothing_stored(&stack).await;
}

#[tokio::test]
async fn a_body_above_a_mebibyte_is_refused_and_one_below_is_read() {
    let (stack, hooks, program) = Hooks::with_program().await;
    let mut event = event(&stack, "charge.refunded.basil", &program, "user-1");
    event["data"]["object"]["description"] = json!("");
    let room = MIB - event.to_string().len();
    for (length, status) in [(room, 200), (room + 1, 413)] {
        event["data"]["object"]["description"] = json!("x".repeat(length));
        hooks.deliver(&stack, &program, &event).await.is(status);
    }
    assert_eq!(stack.count("processor_events").await, 1);
}

/// Replaces every value of an event by one of another type. None causes a failure of the service.
#[tokio::test]
async fn another_type_in_any_field_is_refused_or_kept_and_never_a_failure_of_ours() {
    let (stack, hooks, program) = Hooks::with_program().await;
    let deep: Value = serde_json::from_str(&format!("{}{}", "[".repeat(100), "]".repeat(100))).unwrap();
    let odd = [
        Value::Null,
        json!(true),
        json!(-1),
        json!(1e300),
        json!("x\u{0}y"),
        json!("x".repeat(300)),
        deep,
        json!({ "id": [] }),
    ];
    let envelope = "id type created livemode account data api_version";
    let mut sent = 0;
    for name in [
        "checkout.session.completed.basil",
        "invoice.paid.acacia",
        "charge.refunded.basil",
    ] {
        let good = event(&stack, name, &program, "user-1");
        let inside = good["data"]["object"].as_object().unwrap().keys();
        let paths = inside
            .map(|field| format!("/data/object/{field}"))
            .chain(envelope.split(' ').map(|field| format!("/{field}")));
        for path in paths {
            let mut events = Vec::new();
            for odd in &odd {
                let mut event = good.clone();
                event["id"] = json!(format!("evt_{sent}"));
                event["account"] = json!(ACCOUNT);
                *event.pointer_mut(&path).unwrap_or(&mut Value::Null) = odd.clone();
                sent += 1;
                events.push(event);
            }
            let answers = events.iter().map(|event| hooks.deliver(&stack, &program, event));
            for answer in join_all(answers).await {
                let known = [StatusCode::OK, StatusCode::BAD_REQUEST];
                assert!(known.contains(&answer.status), "{path}: {answer:?}");
                if answer.status == StatusCode::BAD_REQUEST {
                    answer.refused(400, NOT_AN_EVENT);
                }
            }
        }
    }
    let kept_back = stack.count("processor_events WHERE state = 'stuck'").await;
    assert!(kept_back > 0);
}

#[tokio::test]
async fn other_paths_and_methods_are_told_so() {
    let (_stack, hooks) = Hooks::with_stack(Clock::system()).await;
    for (method, path, status, message) in [
        (Method::GET, "/webhooks/stripe/1", 405, "Method Not Allowed"),
        (Method::PUT, DISTRIBUTOR, 405, "Method Not Allowed"),
        (Method::POST, "/webhooks/stripe", 404, "Not Found"),
        (Method::POST, "/webhooks/stripe/1/2", 404, "Not Found"),
        (Method::POST, "/", 404, "Not Found"),
    ] {
        let url = format!("http://{}{path}", hooks.address);
        let response = hooks.http.request(method, url).send().await.unwrap();
        Answer::of(response).await.unwrap().refused(status, message);
    }
}
