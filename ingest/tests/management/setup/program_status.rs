//! The program status of the CLI and of the readiness check.

use chrono::TimeDelta;
use futures::future::join_all;
use serde_json::json;
use test_harness::{Json, Program, Shop, Stack, noon, sale_of};

const STATUS: &str = "/api/v1/cli/status";
const READINESS: &str = "/api/v1/programs/me/readiness";

async fn sell(stack: &Stack, program: &Program, key: &str) {
    stack.customer(program, &program.ada.code, key).await;
    stack.sold(program, sale_of(key, key)).await;
}

async fn run_chain(stack: &Stack, program: &Program) {
    let token = Some(program.token.as_str());
    let body = json!({ "type": "chain" });
    let answer = stack.submit("/api/v1/cli/test-event", token, body).await;
    assert_eq!(answer.data()["attributed"], true);
}

#[tokio::test]
async fn status_counts_the_last_day_without_tests() {
    let stack = Stack::at_noon().await;
    let program = stack.program().await;
    sell(&stack, &program, "yesterday").await;
    stack.clock.advance(TimeDelta::hours(25));
    sell(&stack, &program, "today").await;
    run_chain(&stack, &program).await;
    // The first sale's hold period is not over, so its commission is pending.
    let answer = stack.get(STATUS, &program.token).await;
    assert_eq!(
        *answer.data(),
        json!({
            "program_id": program.program_id.to_string(), "name": "Program", "domain": null,
            "dns_verified": false, "stripe_connected": false,
            "recent_events": { "clicks_24h": 1, "leads_24h": 1, "sales_24h": 1 }, "active_partners": 2, "pending_commissions": 2,
        })
    );
    let statement = "INSERT INTO processor_connections (program_id, account_id, status, charges_enabled)
             SELECT id, 'acct', 'connected', true FROM programs";
    stack.execute(statement).await;
    let named = format!("{STATUS}?program_id={}", program.program_id);
    let connected = stack.get(&named, &program.token).await;
    connected
        .data()
        .has(json!({ "stripe_connected": true, "stripe_charges_enabled": true }));
}

#[tokio::test]
async fn a_new_token_is_a_rotated_key() {
    let (stack, program) = Stack::with_program().await;
    let rotated_at = async || stack.get(READINESS, &program.token).await.body["key_rotated_at"].clone();
    let before = rotated_at().await;
    let same = "UPDATE programs SET name = 'Renamed', api_token_hash = api_token_hash";
    stack.execute(same).await;
    assert_eq!(rotated_at().await, before);
    let other = "UPDATE programs SET api_token_created_at = '2020-01-01', api_token_hash = sha256('another')";
    stack.execute(other).await;
    assert_eq!(
        stack
            .count("programs WHERE api_token_created_at > '2020-01-01'")
            .await,
        1
    );
}

#[tokio::test]
async fn slow_looks_at_programs_delay_no_sale() {
    let shop = Shop::open().await;
    let (stack, token) = (&shop.stack, &shop.program.token);
    // Locks rows that these routes read, but no sale needs.
    let held = stack
        .holding(
            "LOCK TABLE integration_verifications, processor_connections, lead_events, program_days
             IN ACCESS EXCLUSIVE MODE",
        )
        .await;
    let check = json!({ "program_id": shop.program.program_id });
    // More requests of each kind than any pool has connections.
    let looks = join_all((0..12).map(|_| async {
        tokio::join!(
            stack.get(READINESS, token),
            stack.get(STATUS, token),
            stack.submit("/api/tracking/check-test-events", Some(token), check.clone()),
            shop.owner.get("/api/advertiser/dashboard/summary"),
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
    let stack = Stack::at_noon().await;
    let program = stack.program().await;
    let (id, now) = (program.program_id, noon());
    let (today, yesterday) = (now.date_naive(), now.date_naive().pred_opt().unwrap());
    let statement = format!(
        "INSERT INTO lead_events (event_id, program_id, customer_id, lead_timestamp, click_id, event_name)
         SELECT gen_random_uuid(), {id}, 1, '{now}'::timestamptz - make_interval(secs => n), 'click', 'signup'
         FROM generate_series(1, 10000) n;
         INSERT INTO program_days
         VALUES ({id}, '{today}', '', 0, 3000, 0, 0, 0, 0, 0), ({id}, '{yesterday}', '', 0, 24000, 0, 0, 0, 0, 0)"
    );
    stack.execute(&statement).await;
    // The second half of yesterday's events.
    let status = stack.get(STATUS, &program.token).await;
    let recent = json!({ "clicks_24h": 0, "leads_24h": 15_000, "sales_24h": 0 });
    assert_eq!(status.data()["recent_events"], recent);
}
