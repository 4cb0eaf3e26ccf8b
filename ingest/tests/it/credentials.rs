//! Program keys: revoked at once everywhere, and marked for rotation.

use chrono::{DateTime, TimeDelta, Utc};
use common::domain::token::ProgramToken;
use common::runtime::clock::Clock;
use reqwest::StatusCode;
use serde_json::json;

use crate::stack::{Program, Stack, noon};

async fn mark_for_rotation(stack: &Stack, program: &Program, rotate_by: DateTime<Utc>) {
    sqlx::query("UPDATE programs SET key_rotation_marked_at = $2, key_rotation_rotate_by = $3 WHERE id = $1")
        .bind(program.program_id.get())
        .bind(noon())
        .bind(rotate_by)
        .execute(stack.pool())
        .await
        .unwrap();
}

#[tokio::test]
async fn a_replaced_token_is_refused_by_every_ingest() {
    let mut stack = Stack::start().await;
    let program = stack.program().await;
    let second = stack.start_ingest();
    let refused =
        async |stack: &Stack| stack.sale(&program, json!({})).await.status == StatusCode::UNAUTHORIZED;
    assert!(!refused(&stack).await);
    let replacement = ProgramToken::generate(rand::random());
    sqlx::query("UPDATE programs SET api_token_hash = $2 WHERE id = $1")
        .bind(program.program_id.get())
        .bind(replacement.hash().as_bytes().as_slice())
        .execute(stack.pool())
        .await
        .unwrap();
    stack
        .eventually("the first ingest has heard of it", async || refused(&stack).await)
        .await;
    stack.use_ingest(second);
    stack.ready().await;
    stack
        .eventually("the second ingest has heard of it", async || {
            refused(&stack).await
        })
        .await;
    let body = json!({ "transaction_id": "t", "amount_cents": 1, "customer_key": "nobody" });
    let answer = stack.post("sale", Some(replacement.expose()), body).await;
    assert_eq!(
        answer.message(),
        "Customer not found. Provide customer_key or click_id."
    );
    stack.stop().await;
}

#[tokio::test]
async fn a_marked_key_works_until_its_deadline_and_every_answer_says_so() {
    let clock = Clock::manual(noon());
    let stack = Stack::start_with(clock.clone()).await;
    let program = stack.program().await;
    let rotate_by = noon() + TimeDelta::days(30);
    mark_for_rotation(&stack, &program, rotate_by).await;
    let sale = json!({ "transaction_id": "t", "amount_cents": 100, "customer_key": "user" });
    stack
        .eventually("the mark is known", async || {
            !stack.sale(&program, json!({})).await.header("sunset").is_empty()
        })
        .await;
    let click_id = stack.click(&program.ada.code).await;
    let lead = stack.lead(&program, &click_id, "user").await;
    let refund = stack
        .refund(&program, json!({ "transaction_id": "unknown" }))
        .await;
    let recorded = stack.sale(&program, sale.clone()).await;
    assert_eq!((lead.status, recorded.status), (StatusCode::OK, StatusCode::OK));
    for answer in [lead, refund, recorded] {
        assert_eq!(answer.header("deprecation"), format!("@{}", noon().timestamp()));
        assert_eq!(answer.header("sunset"), "Tue, 31 Mar 2026 12:00:00 GMT");
        assert!(answer.header("link").contains("rel=\"deprecation\""));
        let warning = &answer.body["warnings"][0];
        assert_eq!(warning["code"], "api_key_rotation_required");
        assert_eq!(warning["rotate_by"], "2026-03-31T12:00:00.000Z");
        assert!(
            warning["message"].is_string() && warning["hint"].is_string() && warning["docs_url"].is_string()
        );
    }
    clock.set(rotate_by);
    for route in ["click", "lead", "sale", "refund"] {
        let answer = stack.post(route, Some(&program.token), sale.clone()).await;
        assert_eq!(answer.status, StatusCode::UNAUTHORIZED, "{route}");
        assert_eq!(answer.body["error"]["code"], "api_key_rotation_required");
        assert!(answer.body["error"]["hint"].is_string() && answer.body["error"]["docs_url"].is_string());
        assert!(answer.body.get("data").is_none());
    }
    stack.stop().await;
}
