//! The paths of older scripts, and retired endpoints.

use reqwest::{Method, StatusCode};
use serde_json::{Value, json};
use test_harness::{Answer, Program, Stack};

const TEST: &str = "/api/tracking/test";
const CHECK: &str = "/api/tracking/check-test-events";

async fn post(stack: &Stack, path: &str, token: Option<&str>, body: &Value) -> Answer {
    let mut request = stack.request(Method::POST, path).body(body.to_string());
    if let Some(token) = token {
        request = request.bearer_auth(token);
    }
    stack.send(request).await
}

async fn check(stack: &Stack, program: &Program, body: Value) -> Value {
    let answer = post(stack, CHECK, Some(&program.token), &body).await;
    assert_eq!(answer.status, StatusCode::OK, "{answer:?}");
    assert_eq!(answer.body["success"], true);
    answer.body["data"].clone()
}

async fn try_out(stack: &Stack, program: &Program, step: &str) -> Answer {
    let body = json!({ "program_id": program.program_id, "step_id": step });
    post(stack, TEST, Some(&program.token), &body).await
}

#[tokio::test]
async fn each_step_of_an_installation_is_tried_out_and_seen() {
    let (stack, program) = Stack::with_program().await;
    let other = stack.program().await;
    let workspace: i64 = stack
        .value("SELECT workspace_id FROM programs ORDER BY id LIMIT 1")
        .await;
    let id = program.program_id;
    let nothing = json!({
        "hasTestEvents": false, "eventCount": 0, "eventsByType": { "click": 0, "lead": 0, "sale": 0 },
        "latestTestEvent": null, "programId": id, "advertiserId": workspace, "stepId": null,
    });
    assert_eq!(
        check(&stack, &program, json!({ "program_id": id })).await,
        nothing
    );
    for (step, kind) in [("pageview", "click"), ("referrals", "lead"), ("payments", "sale")] {
        let answer = try_out(&stack, &program, step).await;
        assert_eq!(answer.status, StatusCode::OK, "{answer:?}");
        assert_eq!(
            answer.body["message"],
            format!("Test {kind} event tracked successfully")
        );
        assert_eq!(answer.body["data"]["programId"], id.get());
        assert_eq!(answer.body["data"]["test_mode"], true);
        let seen = check(
            &stack,
            &program,
            json!({ "program_id": id.get().to_string(), "step_id": step }),
        )
        .await;
        assert_eq!(seen["hasTestEvents"], true);
        assert_eq!(seen["eventCount"], 1, "only the step's own type: {seen}");
        assert_eq!(seen["eventsByType"][kind], 1);
        assert_eq!(seen["stepId"], step);
        assert_eq!(seen["latestTestEvent"]["id"], answer.body["data"]["eventId"]);
        for time in ["timestamp", "createdAt"] {
            assert!(
                seen["latestTestEvent"][time].as_str().unwrap().ends_with('Z'),
                "{seen}"
            );
        }
    }
    let all = check(&stack, &program, json!({ "program_id": id })).await;
    assert_eq!(all["eventCount"], 3);
    assert_eq!(all["eventsByType"], json!({ "click": 1, "lead": 1, "sale": 1 }));
    let others = check(&stack, &other, json!({ "program_id": other.program_id })).await;
    assert_eq!(others["hasTestEvents"], false);
    stack.verify().await;
}

#[tokio::test]
async fn real_events_are_not_seen_and_ten_test_events_are_enough() {
    let (stack, program) = Stack::with_program().await;
    stack.customer(&program, &program.ada.code, "user").await;
    stack.verify().await;
    let body = json!({ "program_id": program.program_id });
    assert_eq!(
        check(&stack, &program, body.clone()).await["hasTestEvents"],
        false
    );
    for _ in 0..6 {
        for step in ["pageview", "referrals"] {
            assert_eq!(try_out(&stack, &program, step).await.status, StatusCode::OK);
        }
    }
    let seen = check(&stack, &program, body).await;
    assert_eq!(seen["eventCount"], 10);
    assert_eq!(seen["eventsByType"], json!({ "click": 6, "lead": 6, "sale": 0 }));
}

#[tokio::test]
async fn who_may_manage_a_program_tries_it_out_without_its_key() {
    let stack = Stack::start().await;
    let (program, other) = (stack.program().await, stack.program().await);
    let owner = stack.owner_of(&program).await;
    let keys = json!({ "name": "Checks", "scopes": ["program:read", "program:update"], "program_ids": [program.program_id] });
    let made = stack
        .submit("/api/advertiser/api-keys", Some(&owner.token), keys)
        .await;
    let key = made.body["data"]["key"].as_str().unwrap_or_default().to_owned();
    for token in [&owner.token, &key] {
        let of = |id: i64| json!({ "program_id": id, "step_id": "pageview" });
        for path in [TEST, CHECK] {
            let answer = post(&stack, path, Some(token), &of(program.program_id.get())).await;
            assert_eq!(answer.status, StatusCode::OK, "{path} {made:?}: {answer:?}");
            // Another program and a missing one get the same answer.
            let mut seen = Vec::new();
            for id in [other.program_id.get(), 987_654_321] {
                let answer = post(&stack, path, Some(token), &of(id)).await;
                assert_eq!(answer.status, StatusCode::FORBIDDEN, "{path}: {answer:?}");
                seen.push(answer.body);
            }
            assert_eq!(seen[0], seen[1], "{path}");
            let unnamed = post(&stack, path, Some(token), &json!({ "step_id": "pageview" })).await;
            assert_eq!(unnamed.status, StatusCode::BAD_REQUEST, "{path}: {unnamed:?}");
        }
    }
    let seen = check(&stack, &program, json!({ "program_id": program.program_id })).await;
    assert_eq!(seen["eventCount"], 2);
}

/// A stranger who tries one number after another must not learn which ids are programs, nor leave a row.
#[tokio::test]
async fn without_the_programs_key_every_program_id_is_answered_alike() {
    let (stack, program) = Stack::with_program().await;
    let other = stack.program().await;
    let unknown = 987_654_321;
    for path in [TEST, CHECK] {
        for token in [None, Some("aff_nobody"), Some("")] {
            let mut seen = Vec::new();
            for id in [program.program_id.get(), unknown] {
                let answer = post(
                    &stack,
                    path,
                    token,
                    &json!({ "program_id": id, "step_id": "pageview" }),
                )
                .await;
                assert_eq!(answer.status, StatusCode::UNAUTHORIZED, "{path}: {answer:?}");
                seen.push(answer.body);
            }
            assert_eq!(seen[0], seen[1], "{path}");
        }
        // The key of another program does not reveal it either.
        for id in [program.program_id.get(), unknown] {
            let body = json!({ "program_id": id, "step_id": "pageview" });
            let answer = post(&stack, path, Some(&other.token), &body).await;
            assert_eq!(answer.status, StatusCode::FORBIDDEN, "{path}: {answer:?}");
            assert_eq!(answer.message(), "program_id does not match the API key");
        }
    }
    let rows = stack.count("click_events").await;
    assert_eq!(rows, 0);
}
