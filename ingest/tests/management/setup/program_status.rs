//! The program status of the CLI and of the readiness check.

use chrono::TimeDelta;
use futures::future::join_all;
use reqwest::{Method, StatusCode};
use runtime::clock::Clock;
use serde_json::json;
use test_harness::{Answer, Program, Shop, Stack, noon};

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
    // The first sale's hold period is not over, so its commission is pending.
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
}

#[tokio::test]
async fn a_new_token_is_a_rotated_key() {
    let (stack, program) = Stack::with_program().await;
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
}

#[tokio::test]
async fn slow_looks_at_programs_delay_no_sale() {
    let shop = Shop::open().await;
    let (stack, program) = (&shop.stack, &shop.program);
    // Locks rows that these routes read, but no sale needs.
    let mut held = stack.pool().begin().await.unwrap();
    sqlx::raw_sql(
        "LOCK TABLE integration_verifications, processor_connections, lead_events, program_days IN ACCESS EXCLUSIVE MODE",
    )
    .execute(&mut *held)
    .await
    .unwrap();
    let check = async || {
        let body = json!({ "program_id": program.program_id });
        let request = stack.request(Method::POST, "/api/tracking/check-test-events");
        stack
            .send(request.bearer_auth(&program.token).body(body.to_string()))
            .await
    };
    // More requests of each kind than any pool has connections.
    let looks = join_all((0..12).map(|_| async {
        tokio::join!(
            get(stack, READINESS, Some(&program.token)),
            get(stack, STATUS, Some(&program.token)),
            check(),
            stack.get("/api/advertiser/dashboard/summary", &shop.owner.token),
        )
    }));
    let sales = async {
        stack.locked_out("the looks wait", 4).await;
        for transaction_id in ["t1", "t2", "t3"] {
            shop.sell(transaction_id, json!({})).await;
        }
        held.rollback().await.unwrap();
    };
    tokio::join!(looks, sales);
    stack.verify().await;
}

#[tokio::test]
async fn more_than_a_few_thousand_events_a_day_are_taken_from_the_sums_of_the_days() {
    let stack = Stack::start_with(Clock::manual(noon())).await;
    let program = stack.program().await;
    let (id, now) = (program.program_id, noon());
    let (today, yesterday) = (now.date_naive(), now.date_naive().pred_opt().unwrap());
    stack
        .execute(&format!(
            "INSERT INTO lead_events (event_id, program_id, customer_id, lead_timestamp, click_id, event_name)
             SELECT gen_random_uuid(), {id}, 1, '{now}'::timestamptz - make_interval(secs => n), 'click', 'signup'
             FROM generate_series(1, 10000) n;
             INSERT INTO program_days
             VALUES ({id}, '{today}', '', 0, 3000, 0, 0, 0, 0, 0), ({id}, '{yesterday}', '', 0, 24000, 0, 0, 0, 0, 0)"
        ))
        .await;
    // The second half of yesterday's events.
    let recent = get(&stack, STATUS, Some(&program.token)).await.body["data"]["recent_events"].clone();
    assert_eq!(
        recent,
        json!({ "clicks_24h": 0, "leads_24h": 15_000, "sales_24h": 0 })
    );
}
