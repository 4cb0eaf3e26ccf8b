//! Test chains use the real rules and leave only test rows.

use chrono::TimeDelta;
use messages::subject::Subject;
use reqwest::{Method, StatusCode};
use runtime::clock::Clock;
use serde_json::{Value, json};
use test_harness::{Answer, Json, Program, Stack, Streams, mark_for_rotation, noon, sale_of};
use testing::free_address;

use super::{announces_rotation, books};

const PATH: &str = "/api/v1/cli/test-event";

async fn ask(stack: &Stack, program: &Program, body: Value) -> Answer {
    stack.submit(PATH, Some(&program.token), body).await
}

async fn chain(stack: &Stack, program: &Program) -> Answer {
    ask(stack, program, json!({ "type": "chain" })).await
}

#[tokio::test]
async fn a_chain_reaches_its_partner_and_leaves_only_test_rows() {
    let (stack, program) = Stack::with_program().await;
    stack.customer(&program, &program.ada.code, "real").await;
    let sale = sale_of("real", "real");
    stack.sold(&program, sale).await;
    stack.verify().await;
    let before = books(&stack).await;
    let answer = chain(&stack, &program).await.ok();
    let customer_key = answer.body["data"]["customer_key"].as_str().unwrap();
    let done = "attributed";
    let data = json!({
        "type": "chain", "short_code": program.ada.code, "customer_key": customer_key, "attributed": true,
        "verdict": { "click": done, "lead": done, "sale": done },
    });
    assert_eq!(answer.body, json!({ "data": data }));
    assert!(!answer.header("x-request-id").is_empty());
    assert_eq!(books(&stack).await, before);
    for table in ["click_events", "lead_events", "sale_events"] {
        assert_eq!(stack.count(&format!("{table} WHERE is_test")).await, 1, "{table}");
    }
    stack.verify().await;
}

#[tokio::test]
async fn a_link_that_pays_somebody_else_is_found_out() {
    let (stack, program) = Stack::with_program().await;
    let (ada, bruno) = (program.ada.link, program.bruno.partner_id);
    for (damage, verdict) in [
        (
            format!("UPDATE referral_links SET partner_id = {bruno} WHERE id = {ada}"),
            "wrong_partner",
        ),
        (
            "UPDATE partner_programs SET partner_id = NULL".to_owned(),
            "unattributed",
        ),
    ] {
        stack.execute(&damage).await;
        let verdicts = json!({ "click": verdict, "lead": verdict, "sale": verdict });
        let answer = chain(&stack, &program).await;
        answer
            .data()
            .has(json!({ "verdict": verdicts, "attributed": false }));
    }
    assert_eq!(stack.count("integration_verifications").await, 0);
}

#[tokio::test]
async fn without_a_usable_link_nothing_is_attributed() {
    let (stack, program) = Stack::with_program().await;
    for (link, membership) in [("inactive", "approved"), ("active", "suspended")] {
        stack
            .execute_on_links(&format!(
                "UPDATE referral_links SET status = '{link}'; UPDATE partner_programs SET status = '{membership}'"
            ))
            .await;
        let answer = chain(&stack, &program).await.ok();
        answer
            .data()
            .has(json!({ "short_code": null, "attributed": false }));
        assert_eq!(answer.data()["verdict"]["sale"], "unattributed");
        assert!(answer.data()["message"].is_string());
    }
    assert_eq!(stack.count("click_events").await, 0);
}

#[tokio::test]
async fn chains_have_an_hourly_limit_and_single_events_do_not_count() {
    let stack = Stack::start_set(&[("CHAIN_LIMIT", "1")]).await;
    let program = stack.program().await;
    // The hour may end in between, but not twice within three calls.
    let mut refused = chain(&stack, &program).await;
    for _ in 0..3 {
        if refused.status == StatusCode::OK {
            refused = chain(&stack, &program).await;
        }
    }
    refused.rate_limited(3_600);
    for kind in ["click", "lead", "sale"] {
        let body = json!({ "event_type": kind, "program_id": program.program_id.to_string() });
        let answer = ask(&stack, &program, body).await.ok();
        answer
            .body
            .has(json!({ "event_type": kind, "received": true, "attributed": false }));
        assert!(answer.body["event_id"].is_string() && answer.body["message"].is_string());
    }
    // Each program has its own.
    let other = stack.program().await;
    chain(&stack, &other).await.ok();
    stack.verify().await;
}

#[tokio::test]
async fn ten_chains_an_hour_are_run_and_the_eleventh_is_told_when_the_hour_ends() {
    let mut stack = Stack::without_services(Clock::manual(noon())).await;
    // Without Redis the hour follows the clock above.
    stack.set("REDIS_URL", &format!("redis://{}", free_address()));
    stack.start_services().await;
    let program = stack.program().await;
    for _ in 0..10 {
        chain(&stack, &program).await.ok();
    }
    stack.clock.set(noon() + TimeDelta::minutes(59));
    let refused = chain(&stack, &program).await.is(429);
    assert_eq!(refused.body["error"]["retry_after_seconds"], 60);
    assert_eq!(refused.header("retry-after"), "60");
    let sales = stack.count("sale_events WHERE is_test").await;
    assert_eq!(sales, 10, "what is refused is not run");
    stack.clock.set(noon() + TimeDelta::minutes(60));
    chain(&stack, &program).await.ok();
    stack.verify().await;
}

#[tokio::test]
async fn a_chain_delivered_three_times_leaves_the_rows_of_one() {
    let (stack, program) = Stack::with_program().await;
    stack.customer(&program, &program.ada.code, "real").await;
    chain(&stack, &program).await;
    for kind in ["click", "lead", "sale"] {
        let answer = ask(&stack, &program, json!({ "event_type": kind })).await;
        assert_eq!(answer.body["received"], true);
    }
    stack.verify().await;
    let rows = "SELECT jsonb_build_object(
        'clicks', (SELECT jsonb_agg(to_jsonb(t) ORDER BY t.id) FROM click_events t),
        'leads', (SELECT jsonb_agg(to_jsonb(t) ORDER BY t.id) FROM lead_events t),
        'sales', (SELECT jsonb_agg(to_jsonb(t) ORDER BY t.id) FROM sale_events t),
        'verified', (SELECT jsonb_agg(to_jsonb(t)) FROM integration_verifications t))";
    let before: (Value, Value) = (stack.value(rows).await, books(&stack).await);
    let streams = Streams::of(&stack).await;
    assert_eq!(streams.messages(Subject::TestChains).await.len(), 4);
    streams.replay(&stack).await;
    assert_eq!(
        before,
        (stack.value(rows).await, books(&stack).await),
        "nothing is run or stored again"
    );
    stack.verify().await;
}

#[tokio::test]
async fn a_key_to_be_rotated_is_announced_with_the_outcome_and_refused_after_its_deadline() {
    let stack = Stack::at_noon().await;
    let program = stack.program().await;
    let rotate_by = noon() + TimeDelta::days(30);
    mark_for_rotation(&stack, &program, rotate_by).await;
    stack
        .eventually("the mark is known", async || {
            !ask(&stack, &program, json!({})).await.header("sunset").is_empty()
        })
        .await;
    let run = chain(&stack, &program).await;
    assert_eq!(run.data()["attributed"], true, "{run:?}");
    let event = ask(&stack, &program, json!({ "event_type": "lead" })).await;
    assert_eq!(event.body["received"], true, "{event:?}");
    let refused = ask(&stack, &program, json!({ "type": "loop" })).await.is(400);
    for answer in [run, event, refused] {
        announces_rotation(&answer);
    }
    stack.clock.set(rotate_by);
    let retired = chain(&stack, &program).await.is(401);
    assert_eq!(retired.body["error"]["code"], "api_key_rotation_required");
}

#[tokio::test]
async fn what_is_asked_for_must_be_clear_and_the_callers_own() {
    let (stack, program) = Stack::with_program().await;
    let other = stack.program().await;
    for body in [
        json!({}),
        json!({ "type": "loop" }),
        json!({ "event_type": 7 }),
        json!({ "type": null }),
    ] {
        ask(&stack, &program, body).await.is(400);
    }
    let foreign = json!({ "type": "chain", "program_id": other.program_id.get() });
    let answer = ask(&stack, &program, foreign).await.is(403);
    assert_eq!(answer.body["error"]["name"], "ForbiddenError");
    for token in ["affk_0123456789", "aff_nobody"] {
        let answer = stack.submit(PATH, Some(token), json!({})).await.is(401);
        assert_eq!(answer.message(), "Invalid API token");
        assert!(!answer.header("x-request-id").is_empty());
    }
}

#[tokio::test]
async fn a_run_without_a_worker_fails_with_the_id_of_its_request() {
    let mut stack = Stack::without_services(Clock::system()).await;
    stack.set("ANSWER_WITHIN_MS", "50");
    let address = stack.start_ingest();
    stack.use_ingest(address);
    stack.ready().await;
    let program = stack.program().await;
    let request = stack.request(Method::POST, PATH).bearer_auth(&program.token);
    let request = request
        .header("x-request-id", "quote-me")
        .json(&json!({ "type": "chain" }));
    let answer = stack.send(request).await.is(500);
    assert_eq!(answer.header("x-request-id"), "quote-me");
    assert_eq!(answer.message(), "Test event failed. Request ID: quote-me");
    assert_eq!(answer.body["error"]["details"]["request_id"], "quote-me");
}
