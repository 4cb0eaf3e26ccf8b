//! Sessions of a user: the list, ending one or all, expiry, and confirming the password again.

use chrono::TimeDelta;
use reqwest::Method;
use serde_json::json;
use test_harness::managed::PROGRAMS;
use test_harness::{Answer, PASSWORD, Person, Program, Stack, statuses};

use crate::auth::cli_login::connected;

const ME: &str = "/api/users/me";

const SESSIONS: &str = "/api/users/me/sessions";
const CONFIRM: &str = "/api/auth/confirm-password";
const NOBODY: &str = "Missing or invalid credentials";

#[tokio::test]
async fn everybody_sees_where_they_are_signed_in_and_ends_it() {
    let (stack, acme) = Stack::with_workspace().await;
    let rival = stack.workspace("rival").await;
    let body = json!({ "identifier": "owner@acme.example", "password": PASSWORD });
    let elsewhere = stack
        .request(Method::POST, "/api/auth/local")
        .header("x-forwarded-for", "192.0.2.7")
        .header("user-agent", format!("Firefox/145.0 {}", "x".repeat(500)))
        .json(&body);
    let elsewhere = stack.send(elsewhere).await.session();
    let command_line = connected(&stack, &acme).await;

    let listed = acme.owner.get(SESSIONS).await;
    let of_kind = |kind: &str, current: bool| {
        let mut found = listed.data().as_array().unwrap().iter();
        let only = found.find(|one| one["kind"] == kind && one["current"] == current);
        only.unwrap_or_else(|| panic!("{kind}, {current}: {listed:?}"))
    };
    assert_eq!(listed.data().as_array().unwrap().len(), 3, "{listed:?}");
    let here = of_kind("dashboard", true);
    let other = of_kind("dashboard", false);
    assert_eq!(other["address"], "192.0.2.7");
    let user_agent = other["user_agent"].as_str().unwrap();
    assert!(user_agent.starts_with("Firefox/145.0") && user_agent.len() == 200);
    assert_eq!(of_kind("cli", false)["workspace_id"], acme.workspace_id.get());
    assert!(here["last_used_at"].is_string() && here["ends_at"].is_string());

    // Another user's session is not found.
    let path = format!("{SESSIONS}/{}", other["id"]);
    let not_found = "Session not found";
    rival.owner.delete(&path).await.refused(404, not_found);
    acme.owner.delete(&path).await.is(204);
    stack.get(ME, &elsewhere).await.refused(401, NOBODY);
    acme.owner.delete(&path).await.refused(404, not_found);

    acme.owner.delete(SESSIONS).await.is(204);
    stack.get("/api/v1/cli/programs", &command_line).await.is(401);
    acme.owner.get(ME).await.ok();
    rival.owner.get(ME).await.ok();
}

#[tokio::test]
async fn a_session_that_is_not_used_ends_by_itself() {
    let stack = Stack::at_noon().await;
    let acme = stack.workspace("acme").await;
    let command_line = connected(&stack, &acme).await;
    // A session that is used now and then stays open.
    for _ in 0..3 {
        stack.clock.advance(TimeDelta::days(3) - TimeDelta::seconds(1));
        acme.owner.get(ME).await.ok();
    }
    stack.clock.advance(TimeDelta::days(3));
    acme.owner.get(ME).await.refused(401, NOBODY);
    stack.get("/api/v1/cli/programs", &command_line).await.ok();
    stack.clock.advance(TimeDelta::days(30));
    stack.get("/api/v1/cli/programs", &command_line).await.is(401);
}

/// Actions for which a session left open is not enough: method, path and body.
const DEAR: &str = r#"
POST /api/advertiser/api-keys {"name": "Backend"}
PUT /api/advertiser/api-keys/1 {"name": "Backend"}
POST PROGRAM/regenerate-api-token {}
PUT PROGRAM/processor-connection {}
POST PROGRAM/processor-connection/rotate-secret {}
POST /api/advertiser/invitations {"email": "new@shop.example", "role": "owner"}
PUT MEMBER {"role": "owner"}
POST PROGRAM/partners/PARTNER/invitation {}
POST PROGRAM/payouts {"commission_ids": [1]}
GET PROGRAM/commissions/export.csv
GET PROGRAM/payouts/1/export.csv
GET /api/tracking/events/PROGRAM_ID/export
GET /api/advertiser/audit-log/export.csv
POST PROGRAM/customers/export {"customer_key": "nobody"}
POST PROGRAM/customers/erase {"customer_key": "nobody"}
POST /api/users/me/second-factor
POST /api/users/me/second-factor/enable {"code": "000000"}
POST PROGRAM/commissions {"amount_cents": 1}
POST PROGRAM/commissions/1/adjust {"amount_cents": 1}
POST PROGRAM/commissions/reject {}
POST PROGRAM/key-rotation {}
DELETE PROGRAM/key-rotation
DELETE MEMBER
DELETE PROGRAM
"#;

async fn dear(stack: &Stack, owner: &Person, program: &Program) -> Vec<(String, Answer)> {
    let program_id = program.program_id.to_string();
    let calls = DEAR
        .replace("PROGRAM_ID", &program_id)
        .replace("PROGRAM", &format!("{PROGRAMS}/{program_id}"))
        .replace("MEMBER", &stack.member_path(owner).await)
        .replace("PARTNER", &program.ada.membership.to_string());
    let mut answers = Vec::new();
    for call in calls.trim().lines() {
        let mut parts = call.splitn(3, ' ');
        let (method, path) = (parts.next().unwrap(), parts.next().unwrap());
        let body = parts.next().map(|body| serde_json::from_str(body).unwrap());
        let answer = owner.call(method.parse().unwrap(), path, body).await;
        answers.push((call.to_owned(), answer));
    }
    answers
}

#[tokio::test]
async fn what_is_dear_asks_for_the_password_again_after_half_an_hour() {
    let stack = Stack::at_noon().await;
    let program = stack.program().await;
    let owner = stack.owner_of(&program).await;
    let made = owner.api_key(json!({ "name": "Script", "scopes": ["*"] })).await;
    assert_eq!(made["id"], 1);
    stack.clock.advance(TimeDelta::minutes(30));
    let asks = |answer: &Answer| {
        answer.status == 403 && answer.body["error"]["details"] == json!({ "code": "PASSWORD_REQUIRED" })
    };
    for (call, answer) in dear(&stack, &owner, &program).await {
        assert!(asks(&answer), "{call}: {answer:?}");
    }
    assert_eq!(stack.count("management_keys").await, 1);
    // All other actions go on, and a key is limited by its scopes only.
    owner.get("/api/advertiser/api-keys").await.ok();
    let export = format!("{PROGRAMS}/{}/commissions/export.csv", program.program_id);
    stack.get(&export, made["key"].as_str().unwrap()).await.ok();

    let wrong = json!({ "password": "wrong horse battery" });
    let wrong = owner.submit(CONFIRM, wrong).await;
    wrong.refused(400, "The password is wrong");
    assert!(asks(&owner.get(&export).await));
    stack.prove(&owner).await;
    for (call, answer) in dear(&stack, &owner, &program).await {
        assert!(!asks(&answer), "{call}: {answer:?}");
    }
}

#[tokio::test]
async fn guesses_at_the_password_run_out_in_a_session_as_at_the_door() {
    let stack = Stack::start_set(&[("SIGN_IN_LIMIT", "8")]).await;
    let acme = stack.workspace("acme").await;
    let mut found = Vec::new();
    // Two a minute; the minute may end in between.
    for _ in 0..5 {
        let body = json!({ "password": "wrong horse battery" });
        found.push(acme.owner.submit(CONFIRM, body).await);
    }
    assert!(statuses(found).contains(&429));
}
