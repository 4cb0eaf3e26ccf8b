//! The login of a command line: the command line begins it, a browser confirms it, and the token is handed
//! over once.

use chrono::TimeDelta;
use domain::people::permission::Role;
use domain::token::CliLoginToken;
use futures::future::join_all;
use reqwest::Method;
use serde_json::{Value, json};
use test_harness::managed::audit_actions;
use test_harness::{Answer, Json, Person, Stack, Workspace, noon, rows, statuses, succeeds};

const UNKNOWN: &str = "A CLI login session does not exist";
const EXPIRED: &str = "This CLI login session has expired. Run the login command again.";
const START: &str = "/api/v1/cli/auth/start";
const CONFIRM: &str = "/api/auth/cli/confirm";
const POLL: &str = "/api/v1/cli/auth/poll";
const PROGRAMS: &str = "/api/v1/cli/programs";

/// A login that a command line has begun.
struct Login {
    /// The command line polls with this.
    state: String,
    /// The command line shows this to the user.
    user_code: String,
}

async fn start(stack: &Stack) -> Login {
    Login::of(&stack.send(stack.request(Method::POST, START)).await.ok())
}

impl Login {
    fn of(started: &Answer) -> Self {
        let text = |name: &str| started.body[name].as_str().unwrap().to_owned();
        Self {
            state: text("state"),
            user_code: text("user_code"),
        }
    }
}

async fn poll(stack: &Stack, login: &Login) -> Answer {
    stack.submit(POLL, None, json!({ "state": login.state })).await
}

async fn confirm(person: &Person, login: &Login) -> Answer {
    let body = json!({ "user_code": login.user_code });
    person.submit(CONFIRM, body).await
}

async fn inspect(person: &Person, user_code: &str) -> Answer {
    let body = json!({ "user_code": user_code });
    person.submit("/api/auth/cli/inspect", body).await
}

/// Asserts what a command line learns that polls for this login.
async fn is(stack: &Stack, login: &Login, status: &str) {
    assert_eq!(poll(stack, login).await.body, json!({ "status": status }));
}

/// The token that a confirmed login hands over.
async fn taken(stack: &Stack, login: &Login) -> String {
    let complete = poll(stack, login).await;
    complete.body["token"].as_str().unwrap().to_owned()
}

async fn connects(stack: &Stack, person: &Person, workspace: &Workspace) -> String {
    let login = start(stack).await;
    let body = json!({ "user_code": login.user_code, "workspace_id": workspace.workspace_id });
    person.submit(CONFIRM, body).await.ok();
    taken(stack, &login).await
}

/// The token of a command line that a workspace's owner has connected.
pub async fn connected(stack: &Stack, workspace: &Workspace) -> String {
    connects(stack, &workspace.owner, workspace).await
}

#[tokio::test]
async fn a_login_is_begun_confirmed_and_its_token_handed_over_once() {
    let stack = Stack::at_noon().await;
    let acme = stack.workspace("acme").await;
    let started = stack.send(stack.request(Method::POST, START)).await;
    let login = Login::of(&started);
    let (state, user_code) = (login.state.as_str(), login.user_code.as_str());
    assert!(state.starts_with("affl_"));
    // The address that is opened in a browser confirms, but collects no token.
    started.body.has(json!({
        "expires_at": "2026-03-01T12:05:00.000Z", "interval": 2,
        "verification_uri": "http://127.0.0.1:8080/app/connect",
        "auth_url": format!("http://127.0.0.1:8080/app/connect#code={user_code}"),
        "poll_url": format!("http://127.0.0.1:8080/api/v1/cli/auth/poll?state={state}"),
    }));
    assert!(!started.header("x-request-id").is_empty() && !started.header("x-ratelimit-limit").is_empty());
    is(&stack, &login, "pending").await;
    let confirmed = confirm(&acme.owner, &login).await;
    let workspace_id = acme.workspace_id;
    assert_eq!(
        *confirmed.data(),
        json!({ "workspace_id": workspace_id, "workspace_name": "acme" })
    );
    // A HEAD request does not collect the token.
    let path = format!("{POLL}?state={state}");
    stack.send(stack.request(Method::HEAD, &path)).await.is(405);
    // Older command lines poll with GET.
    let complete = stack.visit(&path).await;
    let token = complete.body["token"].as_str().unwrap();
    assert_eq!(
        complete.body,
        json!({ "status": "complete", "token": token, "email": "owner@acme.example",
                "advertiser_id": workspace_id })
    );
    assert_eq!(complete.header("cache-control"), "no-store");
    is(&stack, &login, "consumed").await;
    assert_eq!(stack.get(PROGRAMS, token).await.body, json!([]));
    let dashboard = acme.owner.get(PROGRAMS).await;
    dashboard.refused(401, "This credential is not accepted here");
    // Neither the codes nor the token are stored in plain text.
    let stored = rows::text_of_all_rows(&stack).await;
    for secret in [state, token, user_code, &user_code.replace('-', "")] {
        assert!(!stored.contains(secret), "{secret}");
    }
    let actions = audit_actions(&stack, "action LIKE 'cli_%'").await;
    assert_eq!(actions, ["cli_login.confirmed", "cli_session.opened"]);
    stack.clock.advance(TimeDelta::days(90));
    stack.get(PROGRAMS, token).await.is(401);
}

#[tokio::test]
async fn of_many_polls_at_once_one_gets_the_token() {
    let (stack, acme) = Stack::with_workspace().await;
    let login = start(&stack).await;
    confirm(&acme.owner, &login).await.ok();
    let answers = join_all((0..12).map(|_| poll(&stack, &login))).await;
    let mut found: Vec<_> = answers
        .iter()
        .map(|answer| answer.body["status"].as_str().unwrap())
        .collect();
    found.sort_unstable();
    assert_eq!((found[0], &found[1..]), ("complete", &["consumed"; 11][..]));
    assert_eq!(stack.count("sessions WHERE kind = 'cli'").await, 1);
}

#[tokio::test]
async fn of_two_who_confirm_at_once_one_does() {
    let (stack, acme) = Stack::with_workspace().await;
    let rival = stack.workspace("rival").await;
    let login = start(&stack).await;
    let (one, other) = tokio::join!(confirm(&acme.owner, &login), confirm(&rival.owner, &login));
    let winner = if one.status == 200 { &acme } else { &rival };
    assert_eq!(statuses([one, other]), [200, 409]);
    let workspace_id = winner.workspace_id.get();
    assert_eq!(poll(&stack, &login).await.body["advertiser_id"], workspace_id);
}

#[tokio::test]
async fn after_five_minutes_it_is_too_late_to_confirm_and_to_take_the_token() {
    let stack = Stack::at_noon().await;
    let owner = stack.workspace("acme").await.owner;
    let (confirmed, late) = (start(&stack).await, start(&stack).await);
    confirm(&owner, &confirmed).await.ok();
    stack
        .clock
        .set(noon() + TimeDelta::minutes(5) - TimeDelta::milliseconds(1));
    is(&stack, &late, "pending").await;
    stack.clock.set(noon() + TimeDelta::minutes(5));
    for login in [&confirmed, &late] {
        is(&stack, login, "expired").await;
    }
    confirm(&owner, &late).await.refused(400, EXPIRED);
    assert_eq!(stack.count("sessions WHERE kind = 'cli'").await, 0);
}

#[tokio::test]
async fn a_login_nobody_began_does_not_exist() {
    let (stack, acme) = Stack::with_workspace().await;
    let strange = "affl_00000000000000000000000000000000000000000000v01U5";
    let forged = CliLoginToken::generate([1; 32]);
    for state in ["nonsense", strange, forged.expose(), ""] {
        let login = Login {
            state: state.to_owned(),
            user_code: state.to_owned(),
        };
        poll(&stack, &login).await.refused(404, UNKNOWN);
        confirm(&acme.owner, &login).await.refused(404, UNKNOWN);
    }
    stack.visit(POLL).await.refused(400, "state is required");
    let without = stack.submit(POLL, None, json!({})).await;
    without.refused(400, "state is required");
    let without = acme.owner.submit(CONFIRM, json!({})).await;
    without.refused(400, "user_code is required");
}

#[tokio::test]
async fn a_command_line_acts_in_the_workspace_that_its_owner_named_and_runs() {
    let (stack, acme) = Stack::with_workspace().await;
    let rival = stack.workspace("rival").await;
    // A user who runs several workspaces must name one.
    rival.admit(&stack, &acme.owner, Role::Admin).await;
    let unnamed = confirm(&acme.owner, &start(&stack).await).await;
    unnamed.refused(400, "workspace_id is required: you run several workspaces");
    let token = connects(&stack, &acme.owner, &rival).await;
    let init = |advertiser: Value| {
        let body = json!({ "name": "P", "commission_type": "percent", "commission_rate": 20,
                           "advertiser_id": advertiser });
        stack.submit("/api/v1/cli/init", Some(&token), body)
    };
    // The command line acts in this workspace only, although its owner also runs the other one.
    let no_access = "You do not have access to this resource";
    init(json!(acme.workspace_id)).await.refused(403, no_access);
    init(json!(rival.workspace_id.to_string())).await.ok();
    // And only while its owner runs the workspace.
    let statement = "UPDATE workspace_members SET role = 'member'";
    stack.execute(statement).await;
    init(Value::Null).await.refused(403, no_access);
    stack.get(PROGRAMS, &token).await.refused(403, no_access);
}

#[tokio::test]
async fn a_command_line_ends_with_the_right_it_came_from() {
    let (stack, acme) = Stack::with_workspace().await;
    let again = format!(
        "UPDATE users SET status = 'active'; UPDATE workspace_members SET role = 'admin' WHERE role = 'member';
         INSERT INTO workspace_members (workspace_id, user_id, role)
         SELECT {}, id, 'admin' FROM users WHERE email LIKE '%d@acme.example' ON CONFLICT DO NOTHING",
        acme.workspace_id
    );
    let mut ended = Vec::new();
    for name in ["removed", "demoted", "suspended"] {
        let admin = acme.join(&stack, name, Role::Admin).await;
        let token = connects(&stack, &admin, &acme).await;
        let login = start(&stack).await;
        confirm(&admin, &login).await.ok();
        let path = stack.member_path(&admin).await;
        match name {
            "removed" => drop(acme.owner.delete(&path).await.is(204)),
            "demoted" => drop(acme.owner.put(&path, json!({ "role": "member" })).await.ok()),
            _ => drop(succeeds(&stack, &["user", "suspend", "--email", "suspended@acme.example"]).await),
        }
        ended.push((token, login));
    }
    let owners = connected(&stack, &acme).await;
    stack.execute(&again).await;
    for (token, login) in ended {
        stack.get(PROGRAMS, &token).await.is(401);
        is(&stack, &login, "expired").await;
    }
    stack.get(PROGRAMS, &owners).await.ok();
    // All sessions of the suspended user had ended already.
    let actions = audit_actions(&stack, "details->>'reason' = 'right_ended'").await;
    assert_eq!(actions, ["cli_login.ended", "cli_session.ended"].repeat(2));
}

/// A thief of the account confirms a login, and collects its token after an operator has set a new password.
#[tokio::test]
async fn a_login_that_was_confirmed_ends_with_the_sessions_of_its_account() {
    let (stack, acme) = Stack::with_workspace().await;
    let login = start(&stack).await;
    confirm(&acme.owner, &login).await.ok();
    let reset = "user reset-password --email owner@acme.example --generate-password";
    succeeds(&stack, &reset.split(' ').collect::<Vec<_>>()).await;
    is(&stack, &login, "expired").await;
}

#[tokio::test]
async fn a_suspended_account_connects_nothing() {
    let (stack, acme) = Stack::with_workspace().await;
    let (confirmed, open) = (start(&stack).await, start(&stack).await);
    confirm(&acme.owner, &confirmed).await.ok();
    let token = connected(&stack, &acme).await;
    stack.execute("UPDATE users SET status = 'suspended'").await;
    poll(&stack, &confirmed).await.forbidden("ACCOUNT_BLOCKED");
    confirm(&acme.owner, &open).await.forbidden("ACCOUNT_BLOCKED");
    stack.get(PROGRAMS, &token).await.is(401);
}

#[tokio::test]
async fn logins_count_by_address_and_every_answer_says_where_it_stands() {
    let stack = Stack::start_set(&[("CLI_LIMIT", "2")]).await;
    let from = |address: &str| {
        let request = stack.request(Method::POST, START);
        request.header("x-forwarded-for", address)
    };
    // The minute may end once in between, so that the third or the fifth is refused.
    let mut limited = None;
    for _ in 0..5 {
        let answer = stack.send(from("192.0.2.1")).await;
        assert_eq!(answer.header("x-ratelimit-limit"), "2");
        limited = limited.or((answer.status == 429).then_some(answer));
    }
    let limited = limited.unwrap();
    assert_eq!(limited.body["error"]["code"], "rate_limited");
    assert!(!limited.header("retry-after").is_empty() && !limited.header("x-request-id").is_empty());
    stack.send(from("192.0.2.2")).await.ok();
    // A request from a page of another site is refused, and counted.
    let foreign = from("192.0.2.3").header("origin", "https://evil.example");
    let foreign = stack.send(foreign).await.is(403);
    assert_eq!(foreign.header("x-ratelimit-remaining"), "1");
}

#[tokio::test]
async fn a_failure_quotes_the_id_of_its_request() {
    let (stack, acme) = Stack::with_workspace().await;
    let token = connected(&stack, &acme).await;
    stack.execute("ALTER TABLE cli_logins RENAME TO gone").await;
    stack.execute("ALTER TABLE sessions RENAME TO lost").await;
    let state = CliLoginToken::generate([1; 32]);
    let poll = format!("{POLL}?state={}", state.expose());
    for (method, path) in [
        (Method::POST, START),
        (Method::GET, &poll),
        (Method::POST, "/api/v1/cli/init"),
        (Method::GET, PROGRAMS),
        (Method::POST, "/api/v1/cli/stripe-connect"),
    ] {
        let request = stack.request(method, path).bearer_auth(&token).json(&json!({}));
        let failed = stack.send(request.header("x-request-id", "r-1")).await.is(500);
        assert!(failed.message().ends_with("r-1"), "{path}: {failed:?}");
        assert_eq!(failed.body["error"]["details"], json!({ "request_id": "r-1" }));
        assert_eq!(failed.header("x-request-id"), "r-1");
    }
}

#[tokio::test]
async fn logins_and_sessions_that_are_long_over_are_forgotten() {
    let mut stack = Stack::at_noon().await;
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
    let (stack, acme) = Stack::with_workspace().await;
    let login = start(&stack).await;
    let swapped = Login {
        state: login.user_code.clone(),
        user_code: login.state.clone(),
    };
    confirm(&acme.owner, &swapped).await.refused(404, UNKNOWN);
    let by_state = acme.owner.submit(CONFIRM, json!({ "state": login.state })).await;
    by_state.refused(400, "user_code is required");
    confirm(&acme.owner, &login).await.ok();
    poll(&stack, &swapped).await.refused(404, UNKNOWN);
    assert_eq!(poll(&stack, &login).await.body["status"], "complete");
}

#[tokio::test]
async fn whoever_confirms_a_login_sees_where_it_was_begun() {
    let stack = Stack::at_noon().await;
    let owner = stack.workspace("acme").await.owner;
    let request = stack
        .request(Method::POST, START)
        .header("x-forwarded-for", "203.0.113.9");
    let there = Login::of(&stack.send(request.header("user-agent", "tracker-cli/1.2")).await);
    let typed = there.user_code.to_lowercase().replace('-', " ");
    assert_eq!(
        *inspect(&owner, &typed).await.data(),
        json!({ "user_code": there.user_code, "address": "203.0.113.9", "user_agent": "tracker-cli/1.2",
                "same_address": false, "created_at": "2026-03-01T12:00:00.000Z",
                "expires_at": "2026-03-01T12:05:00.000Z" })
    );
    let here = start(&stack).await;
    let seen = inspect(&owner, &here.user_code).await;
    assert_eq!(seen.data()["same_address"], true);
    // Inspecting changes nothing. A login that is confirmed or over is not offered.
    confirm(&owner, &here).await.ok();
    let again = inspect(&owner, &here.user_code).await;
    again.refused(409, "This CLI login session has been confirmed already");
    stack.clock.advance(TimeDelta::minutes(5));
    inspect(&owner, &there.user_code).await.refused(400, EXPIRED);
}

#[tokio::test]
async fn a_command_line_is_connected_by_who_gave_the_password_of_late() {
    let stack = Stack::at_noon().await;
    let acme = stack.workspace("acme").await;
    stack.clock.advance(TimeDelta::minutes(30));
    let login = start(&stack).await;
    confirm(&acme.owner, &login).await.forbidden("PASSWORD_REQUIRED");
    is(&stack, &login, "pending").await;
}

#[tokio::test]
async fn guesses_at_a_user_code_run_out() {
    let stack = Stack::start_set(&[("UNKNOWN_TOKEN_LIMIT", "3")]).await;
    let owner = stack.workspace("acme").await.owner;
    let mut found = Vec::new();
    // The minute may end once.
    for _ in 0..8 {
        found.push(inspect(&owner, "BCDF-GHJK").await);
    }
    assert!(statuses(found).contains(&429));
}
