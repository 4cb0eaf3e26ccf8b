//! The paths of older scripts, and endpoints that are no more.

use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use crate::stack::{Answer, Program, Stack};

async fn post(stack: &Stack, path: &str, token: Option<&str>, body: &Value) -> Answer {
    let mut request = stack.request(Method::POST, path).body(body.to_string());
    if let Some(token) = token {
        request = request.bearer_auth(token);
    }
    stack.send(request).await
}

async fn check(stack: &Stack, body: Value) -> Value {
    let answer = post(stack, "/api/tracking/check-test-events", None, &body).await;
    assert_eq!(answer.status, StatusCode::OK, "{answer:?}");
    assert_eq!(answer.body["success"], true);
    answer.body["data"].clone()
}

async fn try_out(stack: &Stack, program: &Program, step: &str) -> Answer {
    let body = json!({ "program_id": program.program_id, "step_id": step });
    post(stack, "/api/tracking/test", None, &body).await
}

#[tokio::test]
async fn the_old_paths_lead_through_the_whole_funnel() {
    let stack = Stack::start().await;
    let program = stack.program().await;
    let token = Some(program.token.as_str());
    let body = json!({ "affiliate_url": format!("https://shop.example/?aff={}", program.ada.code) });
    let click = post(&stack, "/api/tracking/click", None, &body).await;
    let customer_code = click.body["click_id"].as_str().unwrap();
    let body = json!({ "customer_code": customer_code, "user_id": "user", "email": "jane@example.com" });
    let lead = post(&stack, "/api/tracking/lead", None, &body).await;
    let expected = json!({
        "success": true, "message": "Lead tracked successfully", "customer_code": customer_code,
    });
    assert_eq!(lead.body, expected);
    let body = json!({ "transaction_id": "t", "amount_cents": 1_000, "customer_key": "user" });
    let sale = post(&stack, "/api/tracking/sale", token, &body).await;
    assert!(sale.body["commission_id"].is_i64(), "{sale:?}");
    assert_eq!(stack.balance(program.ada.membership).await, 200);
    let again = stack.sale(&program, body).await;
    assert_eq!(again.status, StatusCode::CONFLICT, "old and new path are one");
    let refund = post(
        &stack,
        "/api/tracking/refund",
        token,
        &json!({ "transaction_id": "t" }),
    )
    .await;
    assert_eq!(refund.body["status"], "reversed");
    stack.verify().await;
    stack.stop().await;
}

#[tokio::test]
async fn an_old_lead_is_refused_and_tested_like_a_new_one() {
    let stack = Stack::start().await;
    let program = stack.program().await;
    let path = "/api/tracking/lead";
    let nobody = post(&stack, path, None, &json!({})).await;
    assert_eq!(nobody.message(), "click_id or customer_key is required");
    let wrong = post(&stack, path, Some("aff_of_nobody"), &json!({ "user_id": "u" })).await;
    assert_eq!(wrong.status, StatusCode::UNAUTHORIZED);
    let data = json!({ "test_mode": true, "program_id": program.program_id });
    let body = json!({ "user_id": "u", "additional_data": data });
    let test = post(&stack, path, None, &body).await;
    assert_eq!(test.body["message"], "Test lead event tracked successfully");
    assert!(test.body["data"]["eventId"].is_i64());
    stack.stop().await;
}

#[tokio::test]
async fn old_paths_have_the_limits_headers_and_cors_of_the_new() {
    let stack = Stack::start().await;
    for (path, from_browsers) in [
        ("click", true),
        ("lead", true),
        ("sale", false),
        ("refund", false),
        ("test", true),
        ("check-test-events", true),
    ] {
        let path = format!("/api/tracking/{path}");
        let request = stack
            .request(Method::POST, &path)
            .header("origin", "https://shop.example");
        let answer = stack.send(request.body("{}")).await;
        assert!(!answer.header("x-ratelimit-remaining").is_empty(), "{path}");
        assert!(!answer.header("x-request-id").is_empty(), "{path}");
        let origin = if from_browsers { "*" } else { "" };
        assert_eq!(answer.header("access-control-allow-origin"), origin, "{path}");
    }
    stack.stop().await;
}

#[tokio::test]
async fn each_step_of_an_installation_is_tried_out_and_seen() {
    let stack = Stack::start().await;
    let program = stack.program().await;
    let other = stack.program().await;
    let workspace: i64 = stack
        .value("SELECT workspace_id FROM programs ORDER BY id LIMIT 1")
        .await;
    let id = program.program_id;
    let nothing = json!({
        "hasTestEvents": false, "eventCount": 0, "eventsByType": { "click": 0, "lead": 0, "sale": 0 },
        "latestTestEvent": null, "programId": id, "advertiserId": workspace, "stepId": null,
    });
    assert_eq!(check(&stack, json!({ "program_id": id })).await, nothing);
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
    let all = check(&stack, json!({ "program_id": id })).await;
    assert_eq!(all["eventCount"], 3);
    assert_eq!(all["eventsByType"], json!({ "click": 1, "lead": 1, "sale": 1 }));
    let others = check(&stack, json!({ "program_id": other.program_id })).await;
    assert_eq!(others["hasTestEvents"], false);
    stack.verify().await;
    stack.stop().await;
}

#[tokio::test]
async fn real_events_are_not_seen_and_ten_test_events_are_enough() {
    let stack = Stack::start().await;
    let program = stack.program().await;
    stack.customer(&program, &program.ada.code, "user").await;
    stack.verify().await;
    let body = json!({ "program_id": program.program_id });
    assert_eq!(check(&stack, body.clone()).await["hasTestEvents"], false);
    for _ in 0..6 {
        for step in ["pageview", "referrals"] {
            assert_eq!(try_out(&stack, &program, step).await.status, StatusCode::OK);
        }
    }
    let seen = check(&stack, body).await;
    assert_eq!(seen["eventCount"], 10);
    assert_eq!(seen["eventsByType"], json!({ "click": 6, "lead": 6, "sale": 0 }));
    stack.stop().await;
}

#[tokio::test]
async fn a_step_or_a_program_that_does_not_exist_is_refused() {
    let stack = Stack::start().await;
    let program = stack.program().await;
    let other = stack.program().await;
    let id = program.program_id;
    let unknown_step = "step_id must be pageview, referrals or payments";
    let unknown_program = "program_id must name a program";
    for (body, message) in [
        (json!({ "program_id": id, "step_id": "checkout" }), unknown_step),
        (json!({ "program_id": id, "step_id": 1 }), unknown_step),
        (json!({ "step_id": "pageview" }), unknown_program),
        (
            json!({ "program_id": 987_654_321, "step_id": "pageview" }),
            unknown_program,
        ),
    ] {
        for path in ["/api/tracking/test", "/api/tracking/check-test-events"] {
            let answer = post(&stack, path, None, &body).await;
            assert_eq!(
                (answer.status, answer.message()),
                (StatusCode::BAD_REQUEST, message)
            );
        }
    }
    let without_step = post(&stack, "/api/tracking/test", None, &json!({ "program_id": id })).await;
    assert_eq!(without_step.message(), unknown_step);
    let body = json!({ "program_id": id, "step_id": "pageview" });
    let foreign = post(&stack, "/api/tracking/test", Some(&other.token), &body).await;
    assert_eq!(foreign.status, StatusCode::FORBIDDEN);
    stack.stop().await;
}

#[tokio::test]
async fn a_retired_endpoint_names_its_replacement() {
    let stack = Stack::start().await;
    for (path, replacement) in [
        ("/api/track/click", "/api/v1/track/click"),
        ("/api/track/lead", "/api/v1/track/lead"),
        ("/api/track/sale", "/api/v1/track/sale"),
        ("/api/track/refund", "/api/v1/track/refund"),
        ("/api/tracking/conversion", "/api/v1/track/sale"),
        ("/api/tracking/signup", "/api/v1/track/lead"),
    ] {
        for method in [Method::POST, Method::GET] {
            let answer = stack.send(stack.request(method, path)).await;
            assert_eq!(answer.status, StatusCode::GONE, "{path}");
            let message = format!("This endpoint has been retired. Use POST {replacement} instead.");
            let error = json!({ "status": 410, "name": "GoneError", "message": message, "details": {} });
            assert_eq!(answer.body, json!({ "data": null, "error": error }));
            assert!(!answer.header("x-request-id").is_empty());
        }
    }
    stack.stop().await;
}
