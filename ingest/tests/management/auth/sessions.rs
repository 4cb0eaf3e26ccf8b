//! Sessions of a user: the list, ending one or all, expiry, and confirming the password again.

use chrono::TimeDelta;
use reqwest::{Method, StatusCode};
use runtime::clock::Clock;
use serde_json::{Value, json};

use crate::auth::cli_login::connected;
use test_harness::{Answer, PASSWORD, Person, Program, Stack};

const SESSIONS: &str = "/api/users/me/sessions";
const NOBODY: &str = "Missing or invalid credentials";

#[tokio::test]
async fn everybody_sees_where_they_are_signed_in_and_ends_it() {
    let stack = Stack::start().await;
    let acme = stack.workspace("acme").await;
    let rival = stack.workspace("rival").await;
    let body = json!({ "identifier": "owner@acme.example", "password": PASSWORD });
    let elsewhere = stack
        .request(Method::POST, "/api/auth/local")
        .header("x-forwarded-for", "192.0.2.7")
        .header("user-agent", format!("Firefox/145.0 {}", "x".repeat(500)))
        .body(body.to_string());
    let elsewhere = stack.send(elsewhere).await.body["jwt"]
        .as_str()
        .unwrap()
        .to_owned();
    let command_line = connected(&stack, &acme).await;

    let listed = stack.get(SESSIONS, &acme.owner.token).await.body["data"].clone();
    let of_kind = |kind: &str, current: bool| {
        let found = listed.as_array().unwrap().iter();
        let mut found = found.filter(|one| one["kind"] == kind && one["current"] == current);
        let only = found.next().unwrap().clone();
        assert!(found.next().is_none(), "{listed}");
        only
    };
    let (here, other, cli) = (
        of_kind("dashboard", true),
        of_kind("dashboard", false),
        of_kind("cli", false),
    );
    assert_eq!(other["address"], "192.0.2.7");
    let user_agent = other["user_agent"].as_str().unwrap();
    assert!(user_agent.starts_with("Firefox/145.0") && user_agent.len() == 200);
    assert_eq!(cli["workspace_id"], acme.workspace_id.get());
    assert!(here["last_used_at"].is_string() && here["ends_at"].is_string());

    // Another user's session is not found.
    let path = format!("{SESSIONS}/{}", other["id"]);
    let theirs = stack.delete(&path, &rival.owner.token).await;
    theirs.refused(404, "Session not found");
    assert_eq!(
        stack.delete(&path, &acme.owner.token).await.status,
        StatusCode::NO_CONTENT
    );
    stack.get("/api/users/me", &elsewhere).await.refused(401, NOBODY);
    stack
        .delete(&path, &acme.owner.token)
        .await
        .refused(404, "Session not found");

    let ended = stack.delete(SESSIONS, &acme.owner.token).await;
    assert_eq!(ended.status, StatusCode::NO_CONTENT);
    assert_eq!(stack.get("/api/v1/cli/programs", &command_line).await.status, 401);
    assert_eq!(stack.get("/api/users/me", &acme.owner.token).await.status, 200);
    assert_eq!(stack.get("/api/users/me", &rival.owner.token).await.status, 200);
}

#[tokio::test]
async fn a_session_that_is_not_used_ends_by_itself() {
    let clock = Clock::manual("2026-11-21T12:00:00Z".parse().unwrap());
    let stack = Stack::start_with(clock.clone()).await;
    let acme = stack.workspace("acme").await;
    let command_line = connected(&stack, &acme).await;
    // A session that is used now and then stays open.
    for _ in 0..3 {
        clock.advance(TimeDelta::days(3) - TimeDelta::seconds(1));
        assert_eq!(stack.get("/api/users/me", &acme.owner.token).await.status, 200);
    }
    clock.advance(TimeDelta::days(3));
    stack
        .get("/api/users/me", &acme.owner.token)
        .await
        .refused(401, NOBODY);
    assert_eq!(stack.get("/api/v1/cli/programs", &command_line).await.status, 200);
    clock.advance(TimeDelta::days(30));
    assert_eq!(stack.get("/api/v1/cli/programs", &command_line).await.status, 401);
}

/// Actions for which a session left open is not enough.
async fn dear(stack: &Stack, owner: &Person, program: &Program) -> Vec<(String, Answer)> {
    let program_id = program.program_id;
    let path = format!("/api/advertiser/affiliate-programs/{program_id}");
    let named = json!({ "name": "Backend" });
    let customer = json!({ "customer_key": "nobody" });
    let member = format!("/api/advertiser/members/{}", member_of(stack, owner).await);
    let partner = program.ada.membership;
    let calls = [
        (Method::POST, "/api/advertiser/api-keys".to_owned(), named.clone()),
        (Method::PUT, "/api/advertiser/api-keys/1".to_owned(), named),
        (Method::POST, format!("{path}/regenerate-api-token"), json!({})),
        (Method::PUT, format!("{path}/processor-connection"), json!({})),
        (
            Method::POST,
            format!("{path}/processor-connection/rotate-secret"),
            json!({}),
        ),
        (
            Method::POST,
            "/api/advertiser/invitations".to_owned(),
            json!({ "email": "new@shop.example", "role": "owner" }),
        ),
        (Method::PUT, member.clone(), json!({ "role": "owner" })),
        (
            Method::POST,
            format!("{path}/partners/{partner}/invitation"),
            json!({}),
        ),
        (
            Method::POST,
            format!("{path}/payouts"),
            json!({ "commission_ids": [1] }),
        ),
        (Method::GET, format!("{path}/commissions/export.csv"), Value::Null),
        (Method::GET, format!("{path}/payouts/1/export.csv"), Value::Null),
        (
            Method::GET,
            format!("/api/tracking/events/{program_id}/export"),
            Value::Null,
        ),
        (
            Method::GET,
            "/api/advertiser/audit-log/export.csv".to_owned(),
            Value::Null,
        ),
        (Method::POST, format!("{path}/customers/export"), customer.clone()),
        (Method::POST, format!("{path}/customers/erase"), customer),
        (
            Method::POST,
            "/api/users/me/second-factor".to_owned(),
            Value::Null,
        ),
        (
            Method::POST,
            "/api/users/me/second-factor/enable".to_owned(),
            json!({ "code": "000000" }),
        ),
        (
            Method::POST,
            format!("{path}/commissions"),
            json!({ "amount_cents": 1 }),
        ),
        (
            Method::POST,
            format!("{path}/commissions/1/adjust"),
            json!({ "amount_cents": 1 }),
        ),
        (Method::POST, format!("{path}/commissions/reject"), json!({})),
        (Method::POST, format!("{path}/key-rotation"), json!({})),
        (Method::DELETE, format!("{path}/key-rotation"), Value::Null),
        (Method::DELETE, member, Value::Null),
        (Method::DELETE, path, Value::Null),
    ];
    let mut answers = Vec::new();
    for (method, path, body) in calls {
        let what = format!("{method} {path}");
        let request = stack.request(method, &path).bearer_auth(&owner.token);
        let request = if body.is_null() {
            request
        } else {
            request.json(&body)
        };
        answers.push((what, stack.send(request).await));
    }
    answers
}

async fn member_of(stack: &Stack, person: &Person) -> i64 {
    sqlx::query_scalar("SELECT id FROM workspace_members WHERE user_id = $1")
        .bind(person.user_id.get())
        .fetch_one(stack.pool())
        .await
        .unwrap()
}

#[tokio::test]
async fn what_is_dear_asks_for_the_password_again_after_half_an_hour() {
    let clock = Clock::manual("2026-11-21T12:00:00Z".parse().unwrap());
    let stack = Stack::start_with(clock.clone()).await;
    let program = stack.program().await;
    let owner = stack.owner_of(&program).await;
    let program_id = program.program_id.get();
    let made = stack
        .submit(
            "/api/advertiser/api-keys",
            Some(&owner.token),
            json!({ "name": "Script", "scopes": ["*"] }),
        )
        .await;
    let key = made.body["data"]["key"].as_str().unwrap().to_owned();
    assert_eq!(made.body["data"]["id"], 1);
    clock.advance(TimeDelta::minutes(30));
    let asks = |answer: &Answer| {
        answer.status == StatusCode::FORBIDDEN
            && answer.body["error"]["details"] == json!({ "code": "PASSWORD_REQUIRED" })
    };
    for (what, answer) in dear(&stack, &owner, &program).await {
        assert!(asks(&answer), "{what}: {answer:?}");
    }
    let keys = stack.count("management_keys").await;
    assert_eq!(keys, 1);
    // All other actions go on, and a key is limited by its scopes only.
    assert_eq!(
        stack.get("/api/advertiser/api-keys", &owner.token).await.status,
        200
    );
    let export = format!("/api/advertiser/affiliate-programs/{program_id}/commissions/export.csv");
    assert_eq!(stack.get(&export, &key).await.status, 200);

    let confirm = |password: &str| {
        stack.submit(
            "/api/auth/confirm-password",
            Some(&owner.token),
            json!({ "password": password }),
        )
    };
    confirm("wrong horse battery")
        .await
        .refused(400, "The password is wrong");
    assert!(asks(&stack.get(&export, &owner.token).await));
    assert_eq!(confirm(PASSWORD).await.status, StatusCode::NO_CONTENT);
    for (what, answer) in dear(&stack, &owner, &program).await {
        assert!(!asks(&answer), "{what}: {answer:?}");
    }
}

#[tokio::test]
async fn guesses_at_the_password_run_out_in_a_session_as_at_the_door() {
    let stack = Stack::start_set(&[("SIGN_IN_LIMIT", "8")]).await;
    let acme = stack.workspace("acme").await;
    let mut limited = 0;
    // Two a minute; the minute may end in between.
    for _ in 0..5 {
        let body = json!({ "password": "wrong horse battery" });
        let answer = stack
            .submit("/api/auth/confirm-password", Some(&acme.owner.token), body)
            .await;
        limited += i32::from(answer.status == StatusCode::TOO_MANY_REQUESTS);
    }
    assert!(limited >= 1);
}
