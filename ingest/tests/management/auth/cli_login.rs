//! The login of a command line: the command line begins it, a browser confirms it, and the token is handed
//! over once.

use chrono::TimeDelta;
use domain::people::account::UserKind;
use domain::people::permission::Role;
use futures::future::join_all;
use reqwest::{Method, StatusCode};
use runtime::clock::Clock;
use serde_json::{Value, json};
use test_harness::{Answer, Person, Stack, Workspace, noon, succeeds};

const UNKNOWN: &str = "A CLI login session does not exist";
const CONFIRM: &str = "/api/auth/cli/confirm";
const POLL: &str = "/api/v1/cli/auth/poll";

/// A login that a command line has begun.
struct Login {
    /// The command line polls with this.
    state: String,
    /// The command line shows this to the user.
    user_code: String,
}

async fn start(stack: &Stack) -> Login {
    let started = stack
        .send(stack.request(Method::POST, "/api/v1/cli/auth/start"))
        .await;
    assert_eq!(started.status, StatusCode::OK, "{started:?}");
    let text = |name: &str| started.body[name].as_str().unwrap().to_owned();
    Login {
        state: text("state"),
        user_code: text("user_code"),
    }
}

async fn poll(stack: &Stack, login: &Login) -> Answer {
    stack.submit(POLL, None, json!({ "state": login.state })).await
}

async fn confirm(stack: &Stack, person: &Person, login: &Login) -> Answer {
    let body = json!({ "user_code": login.user_code });
    stack.submit(CONFIRM, Some(&person.token), body).await
}

async fn inspect(stack: &Stack, person: &Person, user_code: &str) -> Answer {
    let body = json!({ "user_code": user_code });
    stack
        .submit("/api/auth/cli/inspect", Some(&person.token), body)
        .await
}

/// The token of a command line that a workspace's owner has connected.
pub async fn connected(stack: &Stack, workspace: &Workspace) -> String {
    let login = start(stack).await;
    let body = json!({ "user_code": login.user_code, "workspace_id": workspace.workspace_id.get() });
    stack.submitted(CONFIRM, Some(&workspace.owner.token), body).await;
    poll(stack, &login).await.body["token"]
        .as_str()
        .unwrap()
        .to_owned()
}

#[tokio::test]
async fn a_login_is_begun_confirmed_and_its_token_handed_over_once() {
    let stack = Stack::start_with(Clock::manual(noon())).await;
    let acme = stack.workspace("acme").await;
    let started = stack
        .send(stack.request(Method::POST, "/api/v1/cli/auth/start"))
        .await;
    let text = |name: &str| started.body[name].as_str().unwrap().to_owned();
    let login = Login {
        state: text("state"),
        user_code: text("user_code"),
    };
    let (state, user_code) = (login.state.as_str(), login.user_code.as_str());
    assert!(state.starts_with("affl_"));
    assert_eq!(started.body["expires_at"], "2026-03-01T12:05:00.000Z");
    assert_eq!(started.body["interval"], 2);
    assert_eq!(text("verification_uri"), "http://127.0.0.1:8080/app/connect");
    // The address that is opened in a browser confirms, but collects no token.
    assert_eq!(
        text("auth_url"),
        format!("http://127.0.0.1:8080/app/connect#code={user_code}")
    );
    assert_eq!(
        text("poll_url"),
        format!("http://127.0.0.1:8080/api/v1/cli/auth/poll?state={state}")
    );
    assert!(!started.header("x-request-id").is_empty() && !started.header("x-ratelimit-limit").is_empty());
    assert_eq!(poll(&stack, &login).await.body, json!({ "status": "pending" }));
    let confirmed = confirm(&stack, &acme.owner, &login).await;
    let workspace_id = acme.workspace_id.get();
    assert_eq!(
        confirmed.body,
        json!({ "data": { "workspace_id": workspace_id, "workspace_name": "acme" } })
    );
    // A HEAD request does not collect the token.
    let path = format!("/api/v1/cli/auth/poll?state={state}");
    let head = stack.send(stack.request(Method::HEAD, &path)).await;
    assert_eq!(head.status, StatusCode::METHOD_NOT_ALLOWED);
    // Older command lines poll with GET.
    let complete = stack.send(stack.request(Method::GET, &path)).await;
    let token = complete.body["token"].as_str().unwrap();
    assert_eq!(
        complete.body,
        json!({ "status": "complete", "token": token, "email": "owner@acme.example", "advertiser_id": workspace_id })
    );
    assert_eq!(complete.header("cache-control"), "no-store");
    assert_eq!(poll(&stack, &login).await.body, json!({ "status": "consumed" }));
    assert_eq!(stack.get("/api/v1/cli/programs", token).await.body, json!([]));
    // The token is valid for the command line's routes only, and the dashboard's session for the dashboard's
    // only.
    for path in ["/api/users/me", "/api/advertiser/affiliate-programs"] {
        assert_eq!(
            stack.get(path, token).await.status,
            StatusCode::UNAUTHORIZED,
            "{path}"
        );
    }
    let dashboard = stack.get("/api/v1/cli/programs", &acme.owner.token).await;
    dashboard.refused(401, "This credential is not accepted here");
    // Neither the codes nor the token are stored in plain text.
    let stored: String = stack.value("SELECT string_agg(l::text, '') || string_agg(s::text, '') || string_agg(a::text, '') FROM cli_logins l, sessions s, audit_log a").await;
    assert!(!stored.contains(state) && !stored.contains(token));
    assert!(!stored.contains(user_code) && !stored.contains(&user_code.replace('-', "")));
    let actions: String = stack
        .value("SELECT string_agg(action, ', ' ORDER BY id) FROM audit_log WHERE action LIKE 'cli_%'")
        .await;
    assert_eq!(actions, "cli_login.confirmed, cli_session.opened");
    stack.clock.advance(TimeDelta::days(90));
    assert_eq!(
        stack.get("/api/v1/cli/programs", token).await.status,
        StatusCode::UNAUTHORIZED
    );
}

#[tokio::test]
async fn of_many_polls_at_once_one_gets_the_token() {
    let stack = Stack::start().await;
    let acme = stack.workspace("acme").await;
    let login = start(&stack).await;
    confirm(&stack, &acme.owner, &login).await;
    let answers = join_all((0..12).map(|_| poll(&stack, &login))).await;
    let with = |status: &str| {
        answers
            .iter()
            .filter(|answer| answer.body["status"] == status)
            .count()
    };
    assert_eq!((with("complete"), with("consumed")), (1, 11), "{answers:?}");
    assert_eq!(stack.count("sessions WHERE kind = 'cli'").await, 1);
}

#[tokio::test]
async fn of_two_who_confirm_at_once_one_does() {
    let stack = Stack::start().await;
    let (acme, rival) = (stack.workspace("acme").await, stack.workspace("rival").await);
    let login = start(&stack).await;
    let (one, other) = tokio::join!(
        confirm(&stack, &acme.owner, &login),
        confirm(&stack, &rival.owner, &login)
    );
    let mut statuses = [one.status.as_u16(), other.status.as_u16()];
    statuses.sort_unstable();
    assert_eq!(statuses, [200, 409]);
    let winner = if one.status == StatusCode::OK {
        &acme
    } else {
        &rival
    };
    assert_eq!(
        poll(&stack, &login).await.body["advertiser_id"],
        winner.workspace_id.get()
    );
}

#[tokio::test]
async fn after_five_minutes_it_is_too_late_to_confirm_and_to_take_the_token() {
    let clock = Clock::manual(noon());
    let stack = Stack::start_with(clock.clone()).await;
    let acme = stack.workspace("acme").await;
    let (confirmed, late) = (start(&stack).await, start(&stack).await);
    assert_eq!(
        confirm(&stack, &acme.owner, &confirmed).await.status,
        StatusCode::OK
    );
    clock.advance(TimeDelta::minutes(5) - TimeDelta::milliseconds(1));
    assert_eq!(poll(&stack, &late).await.body, json!({ "status": "pending" }));
    clock.advance(TimeDelta::milliseconds(1));
    for login in [&confirmed, &late] {
        assert_eq!(poll(&stack, login).await.body, json!({ "status": "expired" }));
    }
    let expired = "This CLI login session has expired. Run the login command again.";
    confirm(&stack, &acme.owner, &late).await.refused(400, expired);
    assert_eq!(stack.count("sessions WHERE kind = 'cli'").await, 0);
}

#[tokio::test]
async fn a_login_nobody_began_does_not_exist() {
    let stack = Stack::start().await;
    let acme = stack.workspace("acme").await;
    let strange = "affl_00000000000000000000000000000000000000000000v01U5";
    let forged = domain::token::CliLoginToken::generate([1; 32]);
    for state in ["nonsense", strange, forged.expose(), ""] {
        let login = Login {
            state: state.to_owned(),
            user_code: state.to_owned(),
        };
        poll(&stack, &login).await.refused(404, UNKNOWN);
        confirm(&stack, &acme.owner, &login).await.refused(404, UNKNOWN);
    }
    let without = stack.send(stack.request(Method::GET, POLL)).await;
    without.refused(400, "state is required");
    let without = stack.submit(POLL, None, json!({})).await;
    without.refused(400, "state is required");
    let without = stack.submit(CONFIRM, Some(&acme.owner.token), json!({})).await;
    without.refused(400, "user_code is required");
}

#[tokio::test]
async fn only_who_runs_a_workspace_connects_a_command_line_to_it() {
    let stack = Stack::start().await;
    let acme = stack.workspace("acme").await;
    let rival = stack.workspace("rival").await;
    let member = stack
        .member(acme.workspace_id, "member@acme.example", Role::Member)
        .await;
    let ada = stack.user(UserKind::Partner, "ada@partner.example").await;
    let ada = stack.signed_in(ada, "ada@partner.example").await;
    let login = start(&stack).await;
    let named = async |person: &Person, workspace: &Workspace| {
        let body = json!({ "user_code": login.user_code, "workspace_id": workspace.workspace_id.get() });
        stack.submit(CONFIRM, Some(&person.token), body).await
    };
    for (who, answer) in [
        ("member", confirm(&stack, &member, &login).await),
        ("partner", confirm(&stack, &ada, &login).await),
        ("stranger", named(&rival.owner, &acme).await),
    ] {
        assert_eq!(answer.status, StatusCode::FORBIDDEN, "{who}: {answer:?}");
    }
    let nobody = stack
        .submit(CONFIRM, None, json!({ "user_code": login.user_code }))
        .await;
    nobody.refused(401, "Missing or invalid credentials");
    // A user who runs several workspaces must name one.
    let both = format!(
        "INSERT INTO workspace_members (workspace_id, user_id, role) VALUES ({}, {}, 'admin')",
        rival.workspace_id, acme.owner.user_id
    );
    stack.execute(&both).await;
    let unnamed = confirm(&stack, &acme.owner, &login).await;
    unnamed.refused(400, "workspace_id is required: you run several workspaces");
    assert_eq!(
        named(&acme.owner, &rival).await.body["data"]["workspace_name"],
        "rival"
    );
    let token = poll(&stack, &login).await.body["token"]
        .as_str()
        .unwrap()
        .to_owned();
    let init = |advertiser: Value| {
        let body = json!({ "name": "P", "commission_type": "percent", "commission_rate": 20, "advertiser_id": advertiser });
        stack.submit("/api/v1/cli/init", Some(&token), body)
    };
    // The command line acts in this workspace only, although its owner also runs the other one.
    let elsewhere = init(json!(acme.workspace_id.get())).await;
    elsewhere.refused(403, "You do not have access to this resource");
    assert_eq!(
        init(json!(rival.workspace_id.to_string())).await.status,
        StatusCode::OK
    );
    // And only while its owner runs the workspace.
    stack
        .execute("UPDATE workspace_members SET role = 'member'")
        .await;
    for answer in [
        init(Value::Null).await,
        stack.get("/api/v1/cli/programs", &token).await,
    ] {
        answer.refused(403, "You do not have access to this resource");
    }
}

#[tokio::test]
async fn a_command_line_ends_with_the_right_it_came_from() {
    let stack = Stack::start().await;
    let acme = stack.workspace("acme").await;
    let again = format!(
        "UPDATE users SET status = 'active'; UPDATE workspace_members SET role = 'admin' WHERE role = 'member';
         INSERT INTO workspace_members (workspace_id, user_id, role)
         SELECT {}, id, 'admin' FROM users WHERE email LIKE '%d@acme.example' ON CONFLICT DO NOTHING",
        acme.workspace_id
    );
    let mut ended = Vec::new();
    for email in [
        "removed@acme.example",
        "demoted@acme.example",
        "suspended@acme.example",
    ] {
        let admin = stack.member(acme.workspace_id, email, Role::Admin).await;
        let workspace = Workspace {
            workspace_id: acme.workspace_id,
            owner: admin.clone(),
        };
        let token = connected(&stack, &workspace).await;
        let login = start(&stack).await;
        assert_eq!(confirm(&stack, &admin, &login).await.status, StatusCode::OK);
        let id: i64 = sqlx::query_scalar("SELECT id FROM workspace_members WHERE user_id = $1")
            .bind(admin.user_id.get())
            .fetch_one(stack.pool())
            .await
            .unwrap();
        let path = format!("/api/advertiser/members/{id}");
        match email {
            "removed@acme.example" => {
                stack.delete(&path, &acme.owner.token).await;
            }
            "demoted@acme.example" => {
                let member = json!({ "role": "member" });
                stack.put(&path, &acme.owner.token, member).await;
            }
            _ => {
                succeeds(&stack, &["user", "suspend", "--email", email]).await;
            }
        }
        ended.push((email, token, login));
    }
    let owners = connected(&stack, &acme).await;
    stack.execute(&again).await;
    for (email, token, login) in ended {
        let programs = stack.get("/api/v1/cli/programs", &token).await;
        assert_eq!(programs.status, StatusCode::UNAUTHORIZED, "{email}: {programs:?}");
        let polled = poll(&stack, &login).await;
        assert_eq!(polled.body, json!({ "status": "expired" }), "{email}");
    }
    let programs = stack.get("/api/v1/cli/programs", &owners).await;
    assert_eq!(programs.status, StatusCode::OK);
    // All sessions of the suspended user had ended already.
    let actions: String = stack
        .value("SELECT string_agg(action, ', ' ORDER BY id) FROM audit_log WHERE details->>'reason' = 'right_ended'")
        .await;
    assert_eq!(
        actions,
        "cli_login.ended, cli_session.ended, cli_login.ended, cli_session.ended"
    );
}

/// A thief of the account confirms a login, and collects its token after an operator has set a new password.
#[tokio::test]
async fn a_login_that_was_confirmed_ends_with_the_sessions_of_its_account() {
    let stack = Stack::start().await;
    let acme = stack.workspace("acme").await;
    let login = start(&stack).await;
    assert_eq!(confirm(&stack, &acme.owner, &login).await.status, StatusCode::OK);
    let reset = [
        "user",
        "reset-password",
        "--email",
        "owner@acme.example",
        "--generate-password",
    ];
    succeeds(&stack, &reset).await;
    assert_eq!(poll(&stack, &login).await.body, json!({ "status": "expired" }));
}

#[tokio::test]
async fn a_suspended_account_connects_nothing() {
    let stack = Stack::start().await;
    let acme = stack.workspace("acme").await;
    let (confirmed, open) = (start(&stack).await, start(&stack).await);
    confirm(&stack, &acme.owner, &confirmed).await;
    let token = connected(&stack, &acme).await;
    stack.execute("UPDATE users SET status = 'suspended'").await;
    for answer in [
        poll(&stack, &confirmed).await,
        confirm(&stack, &acme.owner, &open).await,
    ] {
        assert_eq!(answer.status, StatusCode::FORBIDDEN, "{answer:?}");
        assert_eq!(
            answer.body["error"]["details"],
            json!({ "code": "ACCOUNT_BLOCKED" })
        );
    }
    assert_eq!(
        stack.get("/api/v1/cli/programs", &token).await.status,
        StatusCode::UNAUTHORIZED
    );
}

#[tokio::test]
async fn logins_count_by_address_and_every_answer_says_where_it_stands() {
    let mut stack = Stack::without_services(Clock::manual(noon())).await;
    stack.settings.push(("CLI_LIMIT", "2".to_owned()));
    stack.start_services().await;
    let start = |address: &'static str| {
        let request = stack.request(Method::POST, "/api/v1/cli/auth/start");
        stack.send(request.header("x-forwarded-for", address))
    };
    // The minute may end once in between, so that the third or the fifth is refused.
    let mut limited = None;
    for _ in 0..5 {
        let answer = start("192.0.2.1").await;
        assert_eq!(answer.header("x-ratelimit-limit"), "2");
        limited = limited.or((answer.status == StatusCode::TOO_MANY_REQUESTS).then_some(answer));
    }
    let limited = limited.unwrap();
    assert_eq!(limited.body["error"]["code"], "rate_limited");
    assert!(!limited.header("retry-after").is_empty() && !limited.header("x-request-id").is_empty());
    assert_eq!(start("192.0.2.2").await.status, StatusCode::OK);
    // A request from a page of another site is refused, and counted.
    let foreign = stack
        .request(Method::POST, "/api/v1/cli/auth/start")
        .header("origin", "https://evil.example");
    let foreign = stack.send(foreign.header("x-forwarded-for", "192.0.2.3")).await;
    assert_eq!(foreign.status, StatusCode::FORBIDDEN);
    assert_eq!(foreign.header("x-ratelimit-remaining"), "1");
}

#[tokio::test]
async fn a_failure_quotes_the_id_of_its_request() {
    let stack = Stack::start().await;
    let acme = stack.workspace("acme").await;
    let token = connected(&stack, &acme).await;
    stack.execute("ALTER TABLE cli_logins RENAME TO gone").await;
    stack.execute("ALTER TABLE sessions RENAME TO lost").await;
    let send = |method: Method, path: &str| {
        let request = stack
            .request(method, path)
            .header("x-request-id", "r-1")
            .bearer_auth(&token);
        stack.send(request.json(&json!({})))
    };
    let state = domain::token::CliLoginToken::generate([1; 32]);
    let poll = format!("/api/v1/cli/auth/poll?state={}", state.expose());
    for (method, path) in [
        (Method::POST, "/api/v1/cli/auth/start"),
        (Method::GET, poll.as_str()),
        (Method::POST, "/api/v1/cli/init"),
        (Method::GET, "/api/v1/cli/programs"),
        (Method::POST, "/api/v1/cli/stripe-connect"),
    ] {
        let failed = send(method, path).await;
        assert_eq!(failed.status, StatusCode::INTERNAL_SERVER_ERROR, "{path}");
        assert!(failed.message().ends_with("r-1"), "{path}: {failed:?}");
        assert_eq!(
            failed.body["error"]["details"],
            json!({ "request_id": "r-1" }),
            "{path}"
        );
        assert_eq!(failed.header("x-request-id"), "r-1");
    }
}

#[tokio::test]
async fn logins_and_sessions_that_are_long_over_are_forgotten() {
    let mut stack = Stack::start_with(Clock::manual(noon())).await;
    let acme = stack.workspace("acme").await;
    connected(&stack, &acme).await;
    start(&stack).await;
    stack.stop_workers().await;
    // The dashboard's session ended for lack of use, and its row stays for 90 more days; the command line's
    // session ended later.
    stack
        .clock
        .advance(TimeDelta::days(14 + 90) + TimeDelta::milliseconds(1));
    // A worker begins with a round of upkeep.
    stack.start_worker();
    stack
        .eventually("what is over is forgotten", async || {
            let kinds = "SELECT coalesce(string_agg(kind, ' '), '') FROM sessions";
            stack.count("cli_logins").await == 0 && stack.value::<String>(kinds).await == "cli"
        })
        .await;
}

/// The code in a link confirms a login, and the state collects its token. Neither secret does the work of the
/// other, so a caller who sends the link to a victim, or receives it, cannot do both.
#[tokio::test]
async fn what_confirms_a_login_collects_nothing_and_what_collects_confirms_nothing() {
    let stack = Stack::start().await;
    let acme = stack.workspace("acme").await;
    let login = start(&stack).await;
    let swapped = Login {
        state: login.user_code.clone(),
        user_code: login.state.clone(),
    };
    confirm(&stack, &acme.owner, &swapped).await.refused(404, UNKNOWN);
    let by_state = json!({ "state": login.state });
    let by_state = stack.submit(CONFIRM, Some(&acme.owner.token), by_state).await;
    by_state.refused(400, "user_code is required");
    assert_eq!(confirm(&stack, &acme.owner, &login).await.status, StatusCode::OK);
    poll(&stack, &swapped).await.refused(404, UNKNOWN);
    assert_eq!(poll(&stack, &login).await.body["status"], "complete");
}

#[tokio::test]
async fn whoever_confirms_a_login_sees_where_it_was_begun() {
    let clock = Clock::manual(noon());
    let stack = Stack::start_with(clock.clone()).await;
    let acme = stack.workspace("acme").await;
    let started = stack
        .request(Method::POST, "/api/v1/cli/auth/start")
        .header("x-forwarded-for", "203.0.113.9")
        .header("user-agent", "tracker-cli/1.2");
    let started = stack.send(started).await;
    let user_code = started.body["user_code"].as_str().unwrap();
    let typed = user_code.to_lowercase().replace('-', " ");
    let seen = inspect(&stack, &acme.owner, &typed).await;
    assert_eq!(
        seen.body["data"],
        json!({ "user_code": user_code, "address": "203.0.113.9", "user_agent": "tracker-cli/1.2", "same_address": false,
                "created_at": "2026-03-01T12:00:00.000Z", "expires_at": "2026-03-01T12:05:00.000Z" })
    );
    let here = start(&stack).await;
    let seen = inspect(&stack, &acme.owner, &here.user_code).await;
    assert_eq!(seen.body["data"]["same_address"], true);
    // Inspecting changes nothing. A login that is confirmed or over is not offered.
    assert_eq!(confirm(&stack, &acme.owner, &here).await.status, StatusCode::OK);
    let taken = "This CLI login session has been confirmed already";
    inspect(&stack, &acme.owner, &here.user_code)
        .await
        .refused(409, taken);
    clock.advance(TimeDelta::minutes(5));
    let expired = "This CLI login session has expired. Run the login command again.";
    inspect(&stack, &acme.owner, user_code)
        .await
        .refused(400, expired);
}

#[tokio::test]
async fn a_command_line_is_connected_by_who_gave_the_password_of_late() {
    let clock = Clock::manual(noon());
    let stack = Stack::start_with(clock.clone()).await;
    let acme = stack.workspace("acme").await;
    clock.advance(TimeDelta::minutes(30));
    let login = start(&stack).await;
    let asked = confirm(&stack, &acme.owner, &login).await;
    assert_eq!(
        asked.body["error"]["details"],
        json!({ "code": "PASSWORD_REQUIRED" })
    );
    assert_eq!(poll(&stack, &login).await.body, json!({ "status": "pending" }));
}

#[tokio::test]
async fn guesses_at_a_user_code_run_out() {
    let stack = Stack::start_set(&[("UNKNOWN_TOKEN_LIMIT", "3")]).await;
    let acme = stack.workspace("acme").await;
    let mut limited = 0;
    // The minute may end once.
    for _ in 0..8 {
        let guess = inspect(&stack, &acme.owner, "BCDF-GHJK").await;
        limited += i32::from(guess.status == StatusCode::TOO_MANY_REQUESTS);
    }
    assert!(limited > 0);
}
