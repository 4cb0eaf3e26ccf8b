//! Program keys: revoked at once everywhere, and marked for rotation.

use chrono::TimeDelta;
use domain::token::ProgramToken;
use reqwest::StatusCode;
use runtime::clock::Clock;
use serde_json::json;
use test_harness::{Stack, mark_for_rotation, noon};

const PROGRAMS: &str = "/api/advertiser/affiliate-programs";

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
}

#[tokio::test]
async fn a_regenerated_token_is_shown_once_and_the_old_one_refused_by_every_ingest() {
    let mut stack = Stack::start().await;
    let acme = stack.workspace("acme").await;
    let made = stack
        .submit(PROGRAMS, Some(&acme.owner.token), json!({ "name": "Acme" }))
        .await;
    let old = made.body["data"]["api_token"].as_str().unwrap().to_owned();
    let path = format!("{PROGRAMS}/{}", made.body["data"]["id"]);
    let second = stack.start_ingest();
    let sale = json!({ "transaction_id": "t", "amount_cents": 1, "customer_key": "nobody" });
    let known = async |stack: &Stack, token: &str| {
        stack.post("sale", Some(token), sale.clone()).await.status == StatusCode::BAD_REQUEST
    };
    assert!(known(&stack, &old).await);
    let marked = json!({ "rotate_by": "2999-01-01T00:00:00Z" });
    stack
        .submit(&format!("{path}/key-rotation"), Some(&acme.owner.token), marked)
        .await;
    let regenerated = stack
        .submitted(
            &format!("{path}/regenerate-api-token"),
            Some(&acme.owner.token),
            json!({}),
        )
        .await;
    let data = regenerated.body["data"].as_object().unwrap();
    assert_eq!(data.keys().collect::<Vec<_>>(), ["api_token", "api_token_masked"]);
    let new = data["api_token"].as_str().unwrap();
    let read = stack.get(&path, &acme.owner.token).await;
    assert_eq!(read.body["data"]["api_token_masked"], data["api_token_masked"]);
    // The mark belonged to the old token.
    assert_eq!(read.body["data"]["key_rotate_by"], json!(null));
    let old_is_refused = async |stack: &Stack| !known(stack, &old).await && known(stack, new).await;
    stack
        .eventually("the first ingest has heard of it", async || {
            old_is_refused(&stack).await
        })
        .await;
    stack.use_ingest(second);
    stack.ready().await;
    stack
        .eventually("the second ingest has heard of it", async || {
            old_is_refused(&stack).await
        })
        .await;
    let audited: serde_json::Value = stack
        .value("SELECT details FROM audit_log WHERE action = 'program_token.regenerated'")
        .await;
    assert_eq!(audited, json!({ "api_token_masked": data["api_token_masked"] }));
}

#[tokio::test]
async fn a_key_is_marked_for_rotation_and_the_mark_taken_back_by_who_may_replace_it() {
    let stack = Stack::start().await;
    let acme = stack.workspace("acme").await;
    let made = stack
        .submit(PROGRAMS, Some(&acme.owner.token), json!({ "name": "Acme" }))
        .await;
    let token = made.body["data"]["api_token"].as_str().unwrap().to_owned();
    let path = format!("{PROGRAMS}/{}/key-rotation", made.body["data"]["id"]);
    let key = async |scopes: serde_json::Value| {
        let body = json!({ "name": "Key", "scopes": scopes });
        let made = stack
            .submit("/api/advertiser/api-keys", Some(&acme.owner.token), body)
            .await;
        made.body["data"]["key"].as_str().unwrap().to_owned()
    };
    let rotator = key(json!(["program:regenerate-token"])).await;
    let updater = key(json!(["program:update"])).await;
    for (body, message) in [
        (json!({}), "rotate_by is required"),
        (
            json!({ "rotate_by": "in a month" }),
            "rotate_by must be an ISO 8601 instant such as 2027-01-31T12:00:00Z",
        ),
        (
            json!({ "rotate_by": "2020-01-01T00:00:00Z" }),
            "rotate_by must be in the future",
        ),
    ] {
        let answer = stack.submit(&path, Some(&rotator), body).await;
        answer.refused(400, message);
    }
    let mark = json!({ "rotate_by": "2999-01-01T00:00:00+01:00" });
    let forbidden = stack.submit(&path, Some(&updater), mark.clone()).await;
    assert_eq!(forbidden.status, StatusCode::FORBIDDEN);
    let marked = stack.submitted(&path, Some(&rotator), mark).await;
    assert_eq!(marked.body["data"]["rotate_by"], "2998-12-31T23:00:00.000Z");
    let sunset = async || {
        !stack
            .post("sale", Some(&token), json!({}))
            .await
            .header("sunset")
            .is_empty()
    };
    stack.eventually("the mark is told", sunset).await;
    assert_eq!(stack.delete(&path, &updater).await.status, StatusCode::FORBIDDEN);
    let unmarked = stack.delete(&path, &acme.owner.token).await;
    assert_eq!(unmarked.body["data"]["rotate_by"], json!(null));
    stack
        .eventually("the mark is gone", async || !sunset().await)
        .await;
    let audited: Vec<String> = sqlx::query_scalar(
        "SELECT action || ' by ' || actor FROM audit_log WHERE action LIKE 'program_token.%' ORDER BY id",
    )
    .fetch_all(stack.pool())
    .await
    .unwrap();
    assert_eq!(
        audited,
        [
            "program_token.marked_for_rotation by key",
            "program_token.unmarked by user"
        ]
    );
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
        let answer = sale().await;
        assert_eq!(answer.status, StatusCode::UNAUTHORIZED, "{answer:?}");
        assert_eq!(answer.body["error"]["code"], "api_key_rotation_required");
        assert_eq!(answer.header("x-ratelimit-limit"), "2");
    }
}

#[tokio::test]
async fn what_is_taken_back_counts_before_it_is_answered() {
    let mut stack = Stack::start().await;
    let program = stack.program().await;
    let owner = stack.owner_of(&program).await;
    let path = format!("{PROGRAMS}/{}", program.program_id);
    let sale = json!({ "transaction_id": "t", "amount_cents": 1, "customer_key": "nobody" });
    let mut token = program.token.clone();
    for _ in 0..10 {
        let regenerate = format!("{path}/regenerate-api-token");
        let regenerated = stack.submit(&regenerate, Some(&owner.token), json!({})).await;
        let former = stack.post("sale", Some(&token), sale.clone()).await;
        assert_eq!(former.status, StatusCode::UNAUTHORIZED, "{former:?}");
        regenerated.body["data"]["api_token"]
            .as_str()
            .unwrap()
            .clone_into(&mut token);
        let known = stack.post("sale", Some(&token), sale.clone()).await;
        assert_eq!(known.status, StatusCode::BAD_REQUEST, "{known:?}");
    }
    let click = async |stack: &Stack| stack.click_with(&program.ada.code, json!({})).await.status;
    let link = format!("{path}/referral-links/{}", program.ada.link);
    let membership = format!("{path}/partners/{}", program.ada.membership);
    for _ in 0..5 {
        for (of, status, answer) in [
            (&link, "inactive", StatusCode::GONE),
            (&link, "active", StatusCode::OK),
            (&membership, "suspended", StatusCode::GONE),
            (&membership, "approved", StatusCode::OK),
        ] {
            let changed = stack.put(of, &owner.token, json!({ "status": status })).await;
            assert_eq!(changed.status, StatusCode::OK, "{changed:?}");
            assert_eq!(click(&stack).await, answer, "{status}");
        }
    }
    let second = stack.start_ingest();
    assert_eq!(stack.delete(&path, &owner.token).await.status, StatusCode::OK);
    assert_eq!(click(&stack).await, StatusCode::GONE);
    let archived = stack.post("sale", Some(&token), sale.clone()).await;
    assert_eq!(archived.status, StatusCode::UNAUTHORIZED, "{archived:?}");
    // The cache of another ingest is at most a second old.
    tokio::time::sleep(std::time::Duration::from_secs(1)).await;
    stack.use_ingest(second);
    stack.ready().await;
    let archived = stack.post("sale", Some(&token), sale).await;
    assert_eq!(archived.status, StatusCode::UNAUTHORIZED, "{archived:?}");
}
