//! Links and tokens at the edge: turned off and on, created late, replaced.

use domain::token::ProgramToken;
use reqwest::StatusCode;
use runtime::clock::Clock;
use serde_json::{Value, json};
use test_harness::{Json, Program, Stack, rows};

async fn set_link(stack: &Stack, program: &Program, status: &str) {
    let id = program.ada.link;
    stack
        .execute(&format!(
            "UPDATE referral_links SET status = '{status}' WHERE id = {id}"
        ))
        .await;
}

#[tokio::test]
async fn a_link_that_is_turned_off_refuses_clicks_until_it_is_turned_on_again() {
    let (stack, program) = Stack::with_program().await;
    stack.click(&program.ada.code).await;
    set_link(&stack, &program, "inactive").await;
    let answers =
        async |status: StatusCode| stack.click_with(&program.ada.code, json!({})).await.status == status;
    stack
        .eventually("the link is off", async || answers(StatusCode::GONE).await)
        .await;
    let gone = stack.click_with(&program.ada.code, json!({})).await.is(410);
    let error = &gone.body["error"];
    assert_eq!(error["code"], "link_disabled");
    assert!(
        error["hint"].is_string() && error["message"].is_string(),
        "{gone:?}"
    );
    gone.body
        .has(json!({ "success": false, "message": error["message"] }));
    assert!(gone.body.get("data").is_none());
    // This does not affect another partner's link.
    stack.click(&program.bruno.code).await;
    set_link(&stack, &program, "active").await;
    stack
        .eventually("the link is on", async || answers(StatusCode::OK).await)
        .await;
    stack.verify().await;
}

#[tokio::test]
async fn a_code_no_link_has_is_not_found_and_a_link_made_since_is_found_at_once() {
    let stack = Stack::start().await;
    let message = "Referral link not found";
    stack.click_with("nobody", json!({})).await.refused(400, message);
    // Both the program and its link are created after the edge has started.
    let program = stack.program().await;
    let click = stack.click_with(&program.ada.code, json!({})).await.ok();
    assert_eq!(click.body["partner_code"], program.ada.code);
    let capitals = program.ada.code.to_uppercase();
    stack.click_with(&capitals, json!({})).await.refused(400, message);
    stack.verify().await;
}

#[tokio::test]
async fn counters_and_last_clicked_follow_every_click() {
    let stack = Stack::at_noon().await;
    let program = stack.program().await;
    let mut click_ids = Vec::new();
    for _ in 0..3 {
        stack.clock.advance(chrono::TimeDelta::minutes(1));
        click_ids.push(stack.click(&program.ada.code).await);
    }
    rows::counted(&stack, program.ada.link, 3).await;
    click_ids.dedup();
    let each = "without existing_click_id every click is a new customer";
    assert_eq!(click_ids.len(), 3, "{each}");
    for (table, id) in [
        ("referral_links", program.ada.link.get()),
        ("partner_programs", program.ada.membership.get()),
    ] {
        let row = format!("SELECT to_jsonb(t) FROM {table} t WHERE id = {id}");
        let row: Value = stack.value(&row).await;
        row.has(json!({ "clicks": 3, "last_clicked": "2026-03-01T12:03:00+00:00" }));
    }
    stack.verify().await;
}

#[tokio::test]
async fn a_replaced_token_is_refused_and_the_new_one_accepted_by_every_ingest() {
    let mut stack = Stack::without_services(Clock::system()).await;
    stack.start_worker();
    let ingests = [stack.start_ingest(), stack.start_ingest()];
    let mut program = stack.program().await;
    let old = program.token.clone();
    for ingest in ingests {
        stack.use_ingest(ingest);
        stack.ready().await;
        assert_eq!(refund_status(&stack, &old).await, StatusCode::NOT_FOUND);
    }
    let new = ProgramToken::generate([9; 32]);
    sqlx::query("UPDATE programs SET api_token_hash = $1, api_token_masked = $2 WHERE id = $3")
        .bind(new.hash().as_bytes().as_slice())
        .bind(new.masked())
        .bind(program.program_id.get())
        .execute(stack.pool())
        .await
        .unwrap();
    for ingest in ingests {
        stack.use_ingest(ingest);
        // At once: an ingest looks up a token that it does not know.
        assert_eq!(refund_status(&stack, new.expose()).await, StatusCode::NOT_FOUND);
        stack
            .eventually("the old token is refused", async || {
                refund_status(&stack, &old).await == StatusCode::UNAUTHORIZED
            })
            .await;
        assert_eq!(refund_status(&stack, &old).await, StatusCode::UNAUTHORIZED);
    }
    program.token = new.expose().to_owned();
    stack.customer(&program, &program.ada.code, "user-1").await;
    stack.verify().await;
}

/// The answer to a refund of an unknown sale: 404 once the token is accepted.
async fn refund_status(stack: &Stack, token: &str) -> StatusCode {
    stack
        .post("refund", Some(token), json!({ "transaction_id": "unknown" }))
        .await
        .status
}
