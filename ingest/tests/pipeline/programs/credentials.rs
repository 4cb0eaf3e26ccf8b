//! Program keys: revoked at once everywhere, and marked for rotation.

use chrono::TimeDelta;
use reqwest::StatusCode;
use serde_json::{Value, json};
use test_harness::managed::audit_details;
use test_harness::{Answer, Json, Stack, mark_for_rotation, noon, refused_each};

use super::announces_rotation;

/// A sale that is refused for its customer once its token is accepted.
async fn sale_of_nobody(stack: &Stack, token: &str) -> Answer {
    let sale = json!({ "transaction_id": "t", "amount_cents": 1, "customer_key": "nobody" });
    stack.post("sale", Some(token), sale).await
}

#[tokio::test]
async fn a_regenerated_token_is_shown_once_and_the_old_one_refused_by_every_ingest() {
    let (mut stack, program) = Stack::with_managed().await;
    let second = stack.start_ingest();
    sale_of_nobody(&stack, &program.api_token).await.is(400);
    let rotate_by = json!({ "rotate_by": "2999-01-01T00:00:00Z" });
    program.submit(&stack, "key-rotation", rotate_by).await.ok();
    let regenerated = program
        .submit(&stack, "regenerate-api-token", json!({}))
        .await
        .ok();
    let data = regenerated.data().as_object().unwrap();
    assert_eq!(data.keys().collect::<Vec<_>>(), ["api_token", "api_token_masked"]);
    let (new, masked) = (regenerated.string("api_token"), &data["api_token_masked"]);
    // The mark belonged to the old token.
    let read = program.get(&stack, "").await;
    read.data()
        .has(json!({ "api_token_masked": masked, "key_rotate_by": null }));
    for ingest in [None, Some(second)] {
        if let Some(address) = ingest {
            stack.use_ingest(address);
            stack.ready().await;
        }
        stack
            .eventually("the ingest has heard of it", async || {
                let old = sale_of_nobody(&stack, &program.api_token).await;
                old.status == StatusCode::UNAUTHORIZED
            })
            .await;
        sale_of_nobody(&stack, &new).await.is(400);
    }
    let audited = audit_details(&stack, "program_token.regenerated").await;
    assert_eq!(audited, [json!({ "api_token_masked": masked })]);
}

#[tokio::test]
async fn a_key_is_marked_for_rotation_and_the_mark_taken_back_by_who_may_replace_it() {
    let (stack, program) = Stack::with_managed().await;
    let path = program.path("key-rotation");
    let key = async |scope: &str| {
        let made = program
            .owner
            .api_key(json!({ "name": "Key", "scopes": [scope] }))
            .await;
        made["key"].as_str().unwrap().to_owned()
    };
    let rotator = key("program:regenerate-token").await;
    let updater = key("program:update").await;
    let table = json!({
        "rotate_by is required": [{}],
        "rotate_by must be an ISO 8601 instant such as 2027-01-31T12:00:00Z": [{ "rotate_by": "in a month" }],
        "rotate_by must be in the future": [{ "rotate_by": "2020-01-01T00:00:00Z" }],
    });
    refused_each(400, table, async |body| {
        stack.submit(&path, Some(&rotator), body).await
    })
    .await;
    let mark = json!({ "rotate_by": "2999-01-01T00:00:00+01:00" });
    stack.submit(&path, Some(&updater), mark.clone()).await.is(403);
    let marked = stack.submit(&path, Some(&rotator), mark).await.ok();
    assert_eq!(marked.data()["rotate_by"], "2998-12-31T23:00:00.000Z");
    let is_told = async || {
        let answer = stack.post("sale", Some(&program.api_token), json!({})).await;
        !answer.header("sunset").is_empty()
    };
    stack.eventually("the mark is told", is_told).await;
    stack.delete(&path, &updater).await.is(403);
    let unmarked = program.owner.delete(&path).await;
    assert_eq!(unmarked.data()["rotate_by"], Value::Null);
    stack
        .eventually("the mark is gone", async || !is_told().await)
        .await;
    let audited: Vec<String> = stack
        .values(
            "SELECT action || ' by ' || actor FROM audit_log WHERE action LIKE 'program_token.%' ORDER BY id",
        )
        .await;
    let (marked, unmarked) = ("marked_for_rotation by key", "unmarked by user");
    assert_eq!(
        audited,
        [marked, unmarked].map(|action| format!("program_token.{action}"))
    );
}

#[tokio::test]
async fn a_marked_key_works_until_its_deadline_and_every_answer_says_so() {
    let stack = Stack::at_noon().await;
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
    let lead = stack.signed_up(&program, &click_id, "user").await;
    let refund = stack
        .refund(&program, json!({ "transaction_id": "unknown" }))
        .await;
    let recorded = stack.sold(&program, sale.clone()).await;
    for answer in [lead, refund, recorded] {
        announces_rotation(&answer);
        let warning = &answer.body["warnings"][0];
        for text in ["message", "hint", "docs_url"] {
            assert!(warning[text].is_string(), "{text}: {warning}");
        }
    }
    stack.clock.set(rotate_by);
    for route in ["click", "lead", "sale", "refund"] {
        let answer = stack
            .post(route, Some(&program.token), sale.clone())
            .await
            .is(401);
        assert_eq!(answer.body["error"]["code"], "api_key_rotation_required");
        assert!(answer.body["error"]["hint"].is_string() && answer.body["error"]["docs_url"].is_string());
        assert!(answer.body.get("data").is_none());
    }
}

#[tokio::test]
async fn a_key_over_its_limit_is_told_of_its_rotation_and_refused_once_that_is_over() {
    let stack = Stack::start_set(&[("SALE_REFUND_LIMIT", "2")]).await;
    let program = stack.program().await;
    mark_for_rotation(&stack, &program, noon() + TimeDelta::days(36_500)).await;
    let sale = async || stack.sale(&program, json!({})).await;
    stack
        .eventually("the limit is reached by a key that is marked", async || {
            let answer = sale().await;
            answer.status == StatusCode::TOO_MANY_REQUESTS && !answer.header("sunset").is_empty()
        })
        .await;
    stack
        .eventually("the next minute's limit is reached, too", async || {
            let answer = sale().await;
            assert_eq!(answer.header("deprecation"), format!("@{}", noon().timestamp()));
            assert!(answer.header("link").contains("deprecation"), "{answer:?}");
            assert_eq!(answer.body["warnings"][0]["code"], "api_key_rotation_required");
            answer.body["error"]["code"] == "rate_limited"
        })
        .await;
    mark_for_rotation(&stack, &program, noon()).await;
    stack
        .eventually("the key is refused", async || {
            sale().await.status == StatusCode::UNAUTHORIZED
        })
        .await;
    for _ in 0..4 {
        let answer = sale().await.is(401);
        assert_eq!(answer.body["error"]["code"], "api_key_rotation_required");
        assert_eq!(answer.header("x-ratelimit-limit"), "2");
    }
}

#[tokio::test]
async fn what_is_taken_back_counts_before_it_is_answered() {
    let mut stack = Stack::start().await;
    let program = stack.program().await;
    let owner = stack.owner_of(&program).await;
    let mut token = program.token.clone();
    for _ in 0..10 {
        let regenerate = program.path("regenerate-api-token");
        let regenerated = owner.submit(&regenerate, json!({})).await.ok();
        sale_of_nobody(&stack, &token).await.is(401);
        token = regenerated.string("api_token");
        sale_of_nobody(&stack, &token).await.is(400);
    }
    let click = async |stack: &Stack| stack.click_with(&program.ada.code, json!({})).await.status;
    let link = program.path(&format!("referral-links/{}", program.ada.link));
    let membership = program.path(&format!("partners/{}", program.ada.membership));
    for _ in 0..5 {
        for (of, status, answer) in [
            (&link, "inactive", StatusCode::GONE),
            (&link, "active", StatusCode::OK),
            (&membership, "suspended", StatusCode::GONE),
            (&membership, "approved", StatusCode::OK),
        ] {
            owner.put(of, json!({ "status": status })).await.ok();
            assert_eq!(click(&stack).await, answer, "{status}");
        }
    }
    let second = stack.start_ingest();
    owner.delete(&program.path("")).await.ok();
    assert_eq!(click(&stack).await, StatusCode::GONE);
    sale_of_nobody(&stack, &token).await.is(401);
    // The cache of another ingest is at most a second old.
    tokio::time::sleep(std::time::Duration::from_secs(1)).await;
    stack.use_ingest(second);
    stack.ready().await;
    sale_of_nobody(&stack, &token).await.is(401);
}
