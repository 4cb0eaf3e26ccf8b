//! What the CLI and the readiness check say about a program.

use chrono::TimeDelta;
use common::runtime::clock::Clock;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use crate::stack::{Answer, Program, Stack, noon};

const STATUS: &str = "/api/v1/cli/status";
const READINESS: &str = "/api/v1/programs/me/readiness";

async fn get(stack: &Stack, path: &str, token: Option<&str>) -> Answer {
    let mut request = stack.request(Method::GET, path);
    if let Some(token) = token {
        request = request.bearer_auth(token);
    }
    stack.send(request).await
}

async fn execute(stack: &Stack, statement: &'static str) {
    sqlx::query(statement).execute(stack.pool()).await.unwrap();
}

async fn sell(stack: &Stack, program: &Program, key: &str) {
    stack.customer(program, &program.ada.code, key).await;
    let sale = json!({ "transaction_id": key, "amount_cents": 5000, "customer_key": key });
    assert_eq!(stack.sale(program, sale).await.status, StatusCode::OK);
}

async fn run_chain(stack: &Stack, program: &Program) {
    let request = stack
        .request(Method::POST, "/api/v1/cli/test-event")
        .bearer_auth(&program.token)
        .body(json!({ "type": "chain" }).to_string());
    let answer = stack.send(request).await;
    assert_eq!(answer.body["data"]["attributed"], true, "{answer:?}");
}

#[tokio::test]
async fn status_counts_the_last_day_without_tests() {
    let clock = Clock::manual(noon());
    let stack = Stack::start_with(clock.clone()).await;
    let program = stack.program().await;
    sell(&stack, &program, "yesterday").await;
    clock.advance(TimeDelta::hours(25));
    sell(&stack, &program, "today").await;
    run_chain(&stack, &program).await;
    let expected = json!({ "data": {
        "program_id": program.program_id.to_string(),
        "name": "Program",
        "domain": null,
        "dns_verified": false,
        "stripe_connected": false,
        "recent_events": { "clicks_24h": 1, "leads_24h": 1, "sales_24h": 1 },
        "active_partners": 2,
        "pending_commissions": 2,
    } });
    // The first sale's hold period is not over; its commission still waits.
    let answer = get(&stack, STATUS, Some(&program.token)).await;
    assert_eq!((answer.status, &answer.body), (StatusCode::OK, &expected));
    execute(
        &stack,
        "INSERT INTO processor_connections (program_id, account_id, status, charges_enabled)
         SELECT id, 'acct', 'connected', true FROM programs",
    )
    .await;
    let named = format!("{STATUS}?program_id={}", program.program_id);
    let connected = get(&stack, &named, Some(&program.token)).await.body;
    assert_eq!(connected["data"]["stripe_connected"], true);
    assert_eq!(connected["data"]["stripe_charges_enabled"], true);
    stack.stop().await;
}

#[tokio::test]
async fn status_is_of_the_keys_own_program_and_carries_no_request_id() {
    let stack = Stack::start().await;
    let (program, other) = (stack.program().await, stack.program().await);
    let foreign = format!("{STATUS}?program_id={}", other.program_id);
    let forbidden = get(&stack, &foreign, Some(&program.token)).await;
    assert_eq!(forbidden.status, StatusCode::FORBIDDEN);
    assert_eq!(forbidden.message(), "program_id does not match the API key");
    let unreadable = get(&stack, &format!("{STATUS}?program_id=x"), Some(&program.token)).await;
    assert_eq!(unreadable.status, StatusCode::BAD_REQUEST);
    let ok = get(&stack, STATUS, Some(&program.token)).await;
    let unknown = get(&stack, STATUS, Some("affk_0123456789")).await;
    assert_eq!(
        (ok.status, unknown.status),
        (StatusCode::OK, StatusCode::UNAUTHORIZED)
    );
    assert_eq!(unknown.message(), "Invalid API token");
    for answer in [ok, unknown] {
        assert_eq!(answer.header("x-request-id"), "");
        assert_eq!(answer.header("x-ratelimit-limit"), "60");
    }
    // A table the question needs is gone: our failure, and it is quoted.
    execute(&stack, "ALTER TABLE processor_connections RENAME TO gone").await;
    let failed = get(&stack, STATUS, Some(&program.token)).await;
    assert_eq!(failed.status, StatusCode::INTERNAL_SERVER_ERROR);
    let id = failed.header("x-request-id");
    assert!(!id.is_empty() && failed.message().ends_with(id));
    assert_eq!(failed.body["error"]["details"]["request_id"], id);
    let failed = get(&stack, READINESS, Some(&program.token)).await;
    assert_eq!(failed.status, StatusCode::INTERNAL_SERVER_ERROR);
    assert_eq!(failed.body["error"]["code"], "internal_error");
    assert!(failed.body["error"]["retry_after_seconds"].is_i64());
    let id = failed.header("x-request-id");
    assert!(!id.is_empty() && !failed.body.to_string().contains(id));
    stack.stop().await;
}

#[tokio::test]
async fn readiness_follows_the_program_from_draft_to_its_first_sale() {
    let stack = Stack::start().await;
    let program = stack.program().await;
    let look = async |state: &str, blocker: Value| {
        let answer = get(
            &stack,
            &format!("{READINESS}?force_recheck=true"),
            Some(&program.token),
        )
        .await;
        assert_eq!(answer.status, StatusCode::OK, "{answer:?}");
        let said = (&answer.body["state"], &answer.body["blocker"]);
        assert_eq!(said, (&json!(state), &blocker));
        assert!(!answer.header("x-request-id").is_empty());
        answer.body
    };
    let draft = look("draft", json!("profile")).await;
    assert_eq!(draft["program_id"], program.program_id.get());
    assert_eq!(
        draft["gates"]["profile"],
        json!({ "status": "fail", "next_action": "complete_program_profile" })
    );
    assert_eq!(draft["gates"]["economics"], json!({ "status": "pass" }));
    assert_eq!(draft["integration_verified"], false);
    assert_eq!(
        draft["last_event_at"],
        json!({ "click": null, "lead": null, "sale": null })
    );
    assert_eq!(draft["poll"], json!({ "retry_after_seconds": 5 }));
    execute(&stack, "UPDATE programs SET domain = 'shop.example'").await;
    look("configuring", json!("payout")).await;
    execute(
        &stack,
        "INSERT INTO processor_connections (program_id, account_id, status) SELECT id, 'acct', 'connected' FROM programs",
    )
    .await;
    look("configuring", json!("tracking")).await;
    let click_id = stack.click(&program.ada.code).await;
    stack
        .eventually("the click is stored", async || {
            stack.value::<i64>("SELECT count(*) FROM click_events").await == 1
        })
        .await;
    look("ready", json!("live")).await;
    run_chain(&stack, &program).await;
    let verified = look("integration_verified", json!("live")).await;
    assert_eq!(verified["integration_verified"], true);
    assert_eq!(verified["gates"]["live"], json!({ "status": "unknown" }));
    stack.lead(&program, &click_id, "user").await;
    let sale = json!({ "transaction_id": "t", "amount_cents": 100, "customer_key": "user" });
    stack.sale(&program, sale).await;
    let live = look("live_verified", Value::Null).await;
    assert_eq!(live["counts_24h"], json!({ "clicks": 1, "leads": 1, "sales": 1 }));
    assert!(live["last_event_at"]["sale"].as_str().unwrap().ends_with('Z'));
    stack.stop().await;
}

#[tokio::test]
async fn a_new_token_is_a_rotated_key() {
    let stack = Stack::start().await;
    let program = stack.program().await;
    let rotated_at =
        async || get(&stack, READINESS, Some(&program.token)).await.body["key_rotated_at"].clone();
    let before = rotated_at().await;
    execute(
        &stack,
        "UPDATE programs SET name = 'Renamed', api_token_hash = api_token_hash",
    )
    .await;
    assert_eq!(rotated_at().await, before);
    execute(
        &stack,
        "UPDATE programs SET api_token_created_at = '2020-01-01', api_token_hash = sha256('another')",
    )
    .await;
    let dated_anew: bool = stack
        .value("SELECT api_token_created_at > '2020-01-01' FROM programs")
        .await;
    assert!(dated_anew);
    stack.stop().await;
}

#[tokio::test]
async fn readiness_refuses_every_unusable_key_alike() {
    let stack = Stack::start().await;
    for authorization in [
        "",
        "Basic abc",
        "Bearer",
        "Bearer aff_nobody",
        "Bearer affk_0123456789",
    ] {
        let mut request = stack.request(Method::GET, READINESS);
        if !authorization.is_empty() {
            request = request.header("authorization", authorization);
        }
        let answer = stack.send(request).await;
        assert_eq!(answer.status, StatusCode::UNAUTHORIZED, "{authorization}");
        assert_eq!(answer.body["error"]["code"], "invalid_key");
        assert!(answer.body.get("data").is_none());
        assert!(!answer.header("x-request-id").is_empty());
        assert_eq!(answer.header("x-ratelimit-limit"), "30");
    }
    stack.stop().await;
}

#[tokio::test]
async fn a_marked_key_is_warned_beside_the_answer_and_refused_after_its_deadline() {
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
            !stack.sale(&program, json!({})).await.header("sunset").is_empty()
        })
        .await;
    for (path, kept) in [(STATUS, "data"), (READINESS, "state")] {
        let answer = get(&stack, path, Some(&program.token)).await;
        assert_eq!(answer.status, StatusCode::OK);
        assert_eq!(answer.body["warnings"][0]["code"], "api_key_rotation_required");
        assert!(answer.body.get(kept).is_some() && !answer.header("deprecation").is_empty());
    }
    clock.set(rotate_by);
    for path in [STATUS, READINESS] {
        let answer = get(&stack, path, Some(&program.token)).await;
        assert_eq!(answer.status, StatusCode::UNAUTHORIZED);
        assert_eq!(answer.body["error"]["code"], "api_key_rotation_required");
    }
    stack.stop().await;
}
