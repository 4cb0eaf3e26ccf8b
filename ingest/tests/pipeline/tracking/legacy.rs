//! The paths of older scripts, and retired endpoints.

use serde_json::{Value, json};
use test_harness::{Answer, Json, Program, Stack};

const TEST: &str = "/api/tracking/test";
const CHECK: &str = "/api/tracking/check-test-events";

async fn check(stack: &Stack, program: &Program, body: Value) -> Value {
    let answer = stack.submit(CHECK, Some(&program.token), body).await.ok();
    assert_eq!(answer.body["success"], true);
    answer.data().clone()
}

async fn try_out(stack: &Stack, program: &Program, step: &str) -> Answer {
    let body = json!({ "program_id": program.program_id, "step_id": step });
    stack.submit(TEST, Some(&program.token), body).await.ok()
}

/// An id of no program.
const UNKNOWN: i64 = 987_654_321;

fn pageview(program_id: i64) -> Value {
    json!({ "program_id": program_id, "step_id": "pageview" })
}

#[tokio::test]
async fn each_step_of_an_installation_is_tried_out_and_seen() {
    let (stack, program) = Stack::with_program().await;
    let other = stack.program().await;
    let id = program.program_id;
    let nothing = json!({
        "hasTestEvents": false, "eventCount": 0, "eventsByType": { "click": 0, "lead": 0, "sale": 0 },
        "latestTestEvent": null, "programId": id, "advertiserId": stack.workspace_of(&program).await,
        "stepId": null,
    });
    assert_eq!(
        check(&stack, &program, json!({ "program_id": id })).await,
        nothing
    );
    for (step, kind) in [("pageview", "click"), ("referrals", "lead"), ("payments", "sale")] {
        let answer = try_out(&stack, &program, step).await;
        assert_eq!(
            answer.body["message"],
            format!("Test {kind} event tracked successfully")
        );
        answer.data().has(json!({ "programId": id, "test_mode": true }));
        let body = json!({ "program_id": id.get().to_string(), "step_id": step });
        // Only the step's own type.
        let seen = check(&stack, &program, body).await;
        seen.has(json!({ "hasTestEvents": true, "eventCount": 1, "stepId": step }));
        assert_eq!(seen["eventsByType"][kind], 1);
        let latest = &seen["latestTestEvent"];
        assert_eq!(latest["id"], answer.data()["eventId"]);
        for time in ["timestamp", "createdAt"] {
            assert!(latest[time].as_str().unwrap().ends_with('Z'), "{seen}");
        }
    }
    let all = check(&stack, &program, json!({ "program_id": id })).await;
    all.has(json!({ "eventCount": 3, "eventsByType": { "click": 1, "lead": 1, "sale": 1 } }));
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
    let nothing = check(&stack, &program, body.clone()).await;
    assert_eq!(nothing["hasTestEvents"], false);
    for _ in 0..6 {
        for step in ["pageview", "referrals"] {
            try_out(&stack, &program, step).await;
        }
    }
    let by_type = json!({ "click": 6, "lead": 6, "sale": 0 });
    let seen = check(&stack, &program, body).await;
    seen.has(json!({ "eventCount": 10, "eventsByType": by_type }));
}

#[tokio::test]
async fn who_may_manage_a_program_tries_it_out_without_its_key() {
    let stack = Stack::start().await;
    let (program, other) = (stack.program().await, stack.program().await);
    let owner = stack.owner_of(&program).await;
    let id = program.program_id.get();
    let scopes = json!(["program:read", "program:update"]);
    let key = owner
        .api_key(json!({ "name": "Checks", "scopes": scopes, "program_ids": [id] }))
        .await;
    for token in [owner.token.as_str(), key["key"].as_str().unwrap()] {
        for path in [TEST, CHECK] {
            let post = async |body: Value| stack.submit(path, Some(token), body).await;
            post(pageview(id)).await.ok();
            // Another program and a missing one get the same answer.
            let others = post(pageview(other.program_id.get())).await.is(403);
            assert_eq!(others.body, post(pageview(UNKNOWN)).await.is(403).body, "{path}");
            post(json!({ "step_id": "pageview" })).await.is(400);
        }
    }
    let seen = check(&stack, &program, json!({ "program_id": id })).await;
    assert_eq!(seen["eventCount"], 2);
}

/// A stranger who tries one number after another must not learn which ids are programs, nor leave a row.
#[tokio::test]
async fn without_the_programs_key_every_program_id_is_answered_alike() {
    let (stack, program) = Stack::with_program().await;
    let (other, id) = (stack.program().await, program.program_id.get());
    for path in [TEST, CHECK] {
        for token in [None, Some("aff_nobody"), Some("")] {
            let known = stack.submit(path, token, pageview(id)).await.is(401);
            let unknown = stack.submit(path, token, pageview(UNKNOWN)).await.is(401);
            assert_eq!(known.body, unknown.body, "{path}");
        }
        // The key of another program does not reveal it either.
        for id in [id, UNKNOWN] {
            let answer = stack.submit(path, Some(&other.token), pageview(id)).await.is(403);
            assert_eq!(answer.message(), "program_id does not match the API key");
        }
    }
    assert_eq!(stack.count("click_events").await, 0);
}
