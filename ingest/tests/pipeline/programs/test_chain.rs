//! Test chains use the real rules and leave only test rows.

use chrono::TimeDelta;
use messages::subject::Subject;
use reqwest::{Method, StatusCode};
use runtime::clock::Clock;
use serde_json::{Value, json};
use test_harness::{Answer, Program, Stack, Streams, noon};
use testing::free_address;

async fn ask(stack: &Stack, program: &Program, body: Value) -> Answer {
    let request = stack
        .request(Method::POST, "/api/v1/cli/test-event")
        .bearer_auth(&program.token)
        .body(body.to_string());
    stack.send(request).await
}

async fn chain(stack: &Stack, program: &Program) -> Answer {
    ask(stack, program, json!({ "type": "chain" })).await
}

async fn execute(stack: &Stack, statement: &'static str) {
    sqlx::query(statement).execute(stack.pool()).await.unwrap();
}

/// Everything that a user of the service could see, and everything that would send or pay something.
async fn production(stack: &Stack) -> Value {
    stack
        .value(
            "SELECT jsonb_build_object(
                'programs', (SELECT jsonb_agg(to_jsonb(t) ORDER BY t.id) FROM programs t),
                'memberships', (SELECT jsonb_agg(to_jsonb(t) ORDER BY t.id) FROM partner_programs t),
                'links', (SELECT jsonb_agg(to_jsonb(t) ORDER BY t.id) FROM referral_links t),
                'customers', (SELECT jsonb_agg(to_jsonb(t) ORDER BY t.id) FROM customers t),
                'clicks', (SELECT count(*) FROM click_events WHERE NOT is_test),
                'leads', (SELECT count(*) FROM lead_events WHERE NOT is_test),
                'sales', (SELECT jsonb_agg(to_jsonb(t) ORDER BY t.id) FROM sale_events t WHERE NOT is_test),
                'claims', (SELECT jsonb_agg(to_jsonb(t) ORDER BY t.transaction_id) FROM transaction_claims t),
                'subscriptions', (SELECT count(*) FROM subscriptions),
                'commissions', (SELECT jsonb_agg(to_jsonb(t) ORDER BY t.id) FROM commissions t),
                'ledger', (SELECT jsonb_agg(to_jsonb(t) ORDER BY t.id) FROM ledger_entries t),
                'balances', (SELECT jsonb_agg(to_jsonb(t) ORDER BY t.partner_program_id)
                             FROM partner_program_balances t),
                'partner_balances', (SELECT jsonb_agg(to_jsonb(t) ORDER BY t.partner_id) FROM partner_balances t),
                'refused', (SELECT count(*) FROM refused_events),
                'parked', (SELECT count(*) FROM parked_refunds),
                'outbox', (SELECT count(*) FROM outbox),
                'notifications', (SELECT count(*) FROM notifications),
                'dead', (SELECT count(*) FROM dead_letters))",
        )
        .await
}

#[tokio::test]
async fn a_chain_reaches_its_partner_and_leaves_only_test_rows() {
    let (stack, program) = Stack::with_program().await;
    stack.customer(&program, &program.ada.code, "real").await;
    let sale = json!({ "transaction_id": "real", "amount_cents": 5000, "customer_key": "real" });
    assert_eq!(stack.sale(&program, sale).await.status, StatusCode::OK);
    stack.verify().await;
    let before = production(&stack).await;
    let answer = chain(&stack, &program).await;
    assert_eq!(answer.status, StatusCode::OK, "{answer:?}");
    let customer_key = answer.body["data"]["customer_key"].as_str().unwrap();
    assert_eq!(
        answer.body,
        json!({ "data": {
            "type": "chain",
            "short_code": program.ada.code,
            "customer_key": customer_key,
            "verdict": { "click": "attributed", "lead": "attributed", "sale": "attributed" },
            "attributed": true,
        } })
    );
    assert!(!answer.header("x-request-id").is_empty());
    assert_eq!(production(&stack).await, before);
    for query in [
        "SELECT count(*) FROM click_events WHERE is_test",
        "SELECT count(*) FROM lead_events WHERE is_test",
        "SELECT count(*) FROM sale_events WHERE is_test",
    ] {
        assert_eq!(stack.value::<i64>(query).await, 1, "{query}");
    }
    stack.verify().await;
}

#[tokio::test]
async fn a_link_that_pays_somebody_else_is_found_out() {
    let (stack, program) = Stack::with_program().await;
    sqlx::query("UPDATE referral_links SET partner_id = $2 WHERE id = $1")
        .bind(program.ada.link.get())
        .bind(program.bruno.partner_id.get())
        .execute(stack.pool())
        .await
        .unwrap();
    let data = chain(&stack, &program).await.body["data"].clone();
    let wrong = "wrong_partner";
    assert_eq!(
        data["verdict"],
        json!({ "click": wrong, "lead": wrong, "sale": wrong })
    );
    assert_eq!(data["attributed"], false);
    execute(&stack, "UPDATE partner_programs SET partner_id = NULL").await;
    let data = chain(&stack, &program).await.body["data"].clone();
    let nobody = "unattributed";
    assert_eq!(
        data["verdict"],
        json!({ "click": nobody, "lead": nobody, "sale": nobody })
    );
    let verified = stack.count("integration_verifications").await;
    assert_eq!(verified, 0);
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
        let answer = chain(&stack, &program).await;
        assert_eq!(answer.status, StatusCode::OK);
        let data = &answer.body["data"];
        assert_eq!(data["short_code"], Value::Null);
        assert_eq!(data["attributed"], false);
        assert_eq!(data["verdict"]["sale"], "unattributed");
        assert!(data["message"].is_string());
    }
    assert_eq!(stack.count("click_events").await, 0);
}

#[tokio::test]
async fn chains_have_an_hourly_limit_and_single_events_do_not_count() {
    let mut stack = Stack::without_services(Clock::system()).await;
    stack.settings.push(("CHAIN_LIMIT", "1".to_owned()));
    stack.start_worker();
    let address = stack.start_ingest();
    stack.use_ingest(address);
    stack.ready().await;
    let program = stack.program().await;
    // The hour may end in between, but not twice within three calls.
    let mut refused = chain(&stack, &program).await;
    for _ in 0..3 {
        if refused.status == StatusCode::OK {
            refused = chain(&stack, &program).await;
        }
    }
    assert_eq!(refused.status, StatusCode::TOO_MANY_REQUESTS);
    let error = &refused.body["error"];
    assert_eq!(
        (&error["status"], &error["code"]),
        (&json!(429), &json!("rate_limited"))
    );
    let seconds = error["retry_after_seconds"].as_i64().unwrap();
    assert!((1..=3600).contains(&seconds));
    assert_eq!(refused.header("retry-after"), seconds.to_string());
    for kind in ["click", "lead", "sale"] {
        let body = json!({ "event_type": kind, "program_id": program.program_id.to_string() });
        let answer = ask(&stack, &program, body).await;
        assert_eq!(answer.status, StatusCode::OK, "{answer:?}");
        assert_eq!(answer.body["event_type"], kind);
        assert_eq!(
            (&answer.body["received"], &answer.body["attributed"]),
            (&json!(true), &json!(false))
        );
        assert!(answer.body["event_id"].is_string() && answer.body["message"].is_string());
    }
    let other = stack.program().await;
    assert_eq!(
        chain(&stack, &other).await.status,
        StatusCode::OK,
        "each program has its own"
    );
    stack.verify().await;
}

#[tokio::test]
async fn ten_chains_an_hour_are_run_and_the_eleventh_is_told_when_the_hour_ends() {
    let clock = Clock::manual(noon());
    let mut stack = Stack::without_services(clock.clone()).await;
    // Without Redis the hour follows the clock above.
    let nobody = format!("redis://{}", free_address());
    stack.settings.retain(|(setting, _)| *setting != "REDIS_URL");
    stack.settings.push(("REDIS_URL", nobody));
    stack.start_worker();
    let address = stack.start_ingest();
    stack.use_ingest(address);
    stack.ready().await;
    let program = stack.program().await;
    for _ in 0..10 {
        let answer = chain(&stack, &program).await;
        assert_eq!(answer.status, StatusCode::OK, "{answer:?}");
    }
    clock.set(noon() + TimeDelta::minutes(59));
    let refused = chain(&stack, &program).await;
    assert_eq!(refused.status, StatusCode::TOO_MANY_REQUESTS);
    assert_eq!(refused.body["error"]["retry_after_seconds"], 60);
    assert_eq!(refused.header("retry-after"), "60");
    let sales = stack.count("sale_events WHERE is_test").await;
    assert_eq!(sales, 10, "what is refused is not run");
    clock.set(noon() + TimeDelta::minutes(60));
    assert_eq!(chain(&stack, &program).await.status, StatusCode::OK);
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
    let before: (Value, Value) = (stack.value(rows).await, production(&stack).await);
    let streams = Streams::of(&stack).await;
    assert_eq!(streams.messages(Subject::TestChains).await.len(), 4);
    streams.replay(&stack).await;
    assert_eq!(
        before,
        (stack.value(rows).await, production(&stack).await),
        "nothing is run or stored again"
    );
    stack.verify().await;
}

#[tokio::test]
async fn a_key_to_be_rotated_is_announced_with_the_outcome_and_refused_after_its_deadline() {
    let clock = Clock::manual(noon());
    let stack = Stack::start_with(clock.clone()).await;
    let program = stack.program().await;
    let rotate_by = noon() + TimeDelta::days(30);
    sqlx::query("UPDATE programs SET key_rotation_marked_at = $1, key_rotation_rotate_by = $2")
        .bind(noon())
        .bind(rotate_by)
        .execute(stack.pool())
        .await
        .unwrap();
    stack
        .eventually("the mark is known", async || {
            !ask(&stack, &program, json!({})).await.header("sunset").is_empty()
        })
        .await;
    let run = chain(&stack, &program).await;
    assert_eq!(run.body["data"]["attributed"], true, "{run:?}");
    let event = ask(&stack, &program, json!({ "event_type": "lead" })).await;
    assert_eq!(event.body["received"], true, "{event:?}");
    let refused = ask(&stack, &program, json!({ "type": "loop" })).await;
    assert_eq!(refused.status, StatusCode::BAD_REQUEST);
    for answer in [run, event, refused] {
        assert_eq!(answer.header("deprecation"), format!("@{}", noon().timestamp()));
        assert_eq!(answer.header("sunset"), "Tue, 31 Mar 2026 12:00:00 GMT");
        assert!(answer.header("link").contains("rel=\"deprecation\""));
        let warning = &answer.body["warnings"][0];
        assert_eq!(warning["code"], "api_key_rotation_required");
        assert_eq!(warning["rotate_by"], "2026-03-31T12:00:00.000Z");
    }
    clock.set(rotate_by);
    let retired = chain(&stack, &program).await;
    assert_eq!(retired.status, StatusCode::UNAUTHORIZED);
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
        let answer = ask(&stack, &program, body.clone()).await;
        assert_eq!(answer.status, StatusCode::BAD_REQUEST, "{body}");
    }
    let foreign = json!({ "type": "chain", "program_id": other.program_id.get() });
    let answer = ask(&stack, &program, foreign).await;
    assert_eq!(answer.status, StatusCode::FORBIDDEN);
    assert_eq!(answer.body["error"]["name"], "ForbiddenError");
    for token in ["affk_0123456789", "aff_nobody"] {
        let request = stack
            .request(Method::POST, "/api/v1/cli/test-event")
            .bearer_auth(token)
            .body("{}");
        let answer = stack.send(request).await;
        assert_eq!(answer.status, StatusCode::UNAUTHORIZED);
        assert_eq!(answer.message(), "Invalid API token");
        assert!(!answer.header("x-request-id").is_empty());
    }
}

#[tokio::test]
async fn a_run_without_a_worker_fails_with_the_id_of_its_request() {
    let mut stack = Stack::without_services(Clock::system()).await;
    stack.settings.push(("ANSWER_WITHIN_MS", "50".to_owned()));
    let address = stack.start_ingest();
    stack.use_ingest(address);
    stack.ready().await;
    let program = stack.program().await;
    let request = stack
        .request(Method::POST, "/api/v1/cli/test-event")
        .bearer_auth(&program.token)
        .header("x-request-id", "quote-me")
        .body(json!({ "type": "chain" }).to_string());
    let answer = stack.send(request).await;
    assert_eq!(answer.status, StatusCode::INTERNAL_SERVER_ERROR);
    assert_eq!(answer.header("x-request-id"), "quote-me");
    assert_eq!(answer.message(), "Test event failed. Request ID: quote-me");
    assert_eq!(answer.body["error"]["details"]["request_id"], "quote-me");
}
