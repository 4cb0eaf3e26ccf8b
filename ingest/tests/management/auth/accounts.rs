//! Signing in, staying signed in, signing out.

use chrono::TimeDelta;
use reqwest::Method;
use serde_json::json;
use test_harness::managed::audit_actions;
use test_harness::{PASSWORD, Stack, refused_each, rows};

const ME: &str = "/api/users/me";
const OWNER: &str = "owner@acme.example";
const NOBODY: &str = "Missing or invalid credentials";

#[tokio::test]
async fn address_and_password_open_a_session_that_says_who_one_is() {
    let (stack, acme) = Stack::with_workspace().await;
    let answer = stack.sign_in(" OWNER@acme.example ", PASSWORD).await.ok();
    let token = answer.session();
    assert_eq!(
        answer.body["user"],
        json!({ "id": acme.owner.user_id, "email": OWNER, "name": "Somebody", "kind": "advertiser",
                "verified": true })
    );
    assert_eq!(answer.header("cache-control"), "no-store");
    let me = stack.get(ME, &token).await;
    assert_eq!(me.body["id"], answer.body["user"]["id"]);
    assert_eq!(
        me.body["workspaces"],
        json!([{ "id": acme.workspace_id, "name": "acme", "role": "owner", "second_factor_required": false,
                 "permissions": {} }])
    );
    // Neither passwords nor tokens are stored in plain text.
    let stored = rows::text_of_all_rows(&stack).await;
    assert!(!stored.contains(&token) && !stored.contains(PASSWORD));
}

#[tokio::test]
async fn a_wrong_password_and_an_unknown_address_are_answered_alike() {
    let stack = Stack::start().await;
    stack.workspace("acme").await;
    let long = "x".repeat(5000);
    for (identifier, password) in [
        (OWNER, "wrong horse battery"),
        ("nobody@acme.example", PASSWORD),
        ("no address", PASSWORD),
        ("owner2@acme.example", long.as_str()),
    ] {
        let answer = stack.sign_in(identifier, password).await;
        answer.refused(400, "Invalid identifier or password");
        assert!(answer.headers.get("set-cookie").is_none());
    }
    let refusals = json!({
        "identifier is required": [{ "password": PASSWORD }, { "identifier": 5, "password": PASSWORD }],
        "password is required": [{ "identifier": OWNER }],
    });
    refused_each(400, refusals, |body| stack.submit("/api/auth/local", None, body)).await;
}

#[tokio::test]
async fn guesses_run_out_for_the_account_wherever_they_come_from() {
    let stack = Stack::start_set(&[("SIGN_IN_LIMIT", "8")]).await;
    stack.workspace("acme").await;
    // The sign-in of `workspace` was the first of two a minute.
    let from = |address: &str, password: &str| {
        let body = json!({ "identifier": "Owner@acme.example", "password": password });
        let request = stack.request(Method::POST, "/api/auth/local");
        stack.send(request.header("x-forwarded-for", address).json(&body))
    };
    from("192.0.2.1", "wrong horse battery").await.is(400);
    let third = from("192.0.2.2", PASSWORD).await;
    // The minute may have ended between the first two.
    let last = from("192.0.2.3", PASSWORD).await;
    let mut limited = [third, last].into_iter().filter(|answer| answer.status == 429);
    let limited = limited.next().expect("two guesses a minute, and four tries");
    assert_eq!(limited.body["error"]["code"], "rate_limited");
    assert!(!limited.header("retry-after").is_empty());
}

#[tokio::test]
async fn a_suspended_account_is_told_so_only_when_it_knows_its_password() {
    let (stack, acme) = Stack::with_workspace().await;
    stack.execute("UPDATE users SET status = 'suspended'").await;
    let answer = stack.sign_in(OWNER, PASSWORD).await;
    answer.forbidden("ACCOUNT_BLOCKED");
    let wrong = stack.sign_in(OWNER, "wrong horse battery").await;
    wrong.refused(400, "Invalid identifier or password");
    // All open sessions end.
    acme.owner.get(ME).await.refused(401, NOBODY);
}

#[tokio::test]
async fn a_session_ends_when_it_is_signed_out_and_when_its_time_is_over() {
    let stack = Stack::at_noon().await;
    let owner = stack.workspace("acme").await.owner;
    let other = stack.signed_in(owner.user_id, OWNER).await;
    let out = other.submit("/api/auth/logout", json!({})).await.is(204);
    assert!(out.header("set-cookie").contains("Max-Age=0"));
    other.get(ME).await.refused(401, NOBODY);
    // Used sessions last their full time; unused ones end earlier.
    for passing in [TimeDelta::days(2); 7] {
        owner.get(ME).await.ok();
        stack.clock.advance(passing - TimeDelta::milliseconds(1));
    }
    owner.get(ME).await.ok();
    stack.clock.advance(TimeDelta::milliseconds(7));
    owner.get(ME).await.refused(401, NOBODY);
}

#[tokio::test]
async fn of_two_changes_at_once_one_is_of_the_current_password() {
    let stack = Stack::start().await;
    let owner = stack.workspace("acme").await.owner;
    let user = format!("SELECT FROM users WHERE id = {} FOR UPDATE", owner.user_id);
    let held = stack.holding(&user).await;
    let change = async |new: &str| {
        let body = json!({ "currentPassword": PASSWORD, "password": new, "passwordConfirmation": new });
        owner.submit("/api/auth/change-password", body).await
    };
    let (first, second, ()) = tokio::join!(
        change("a new one entirely"),
        change("quite another one"),
        stack.release(held, 2)
    );
    let (changed, refused) = if first.status == 200 {
        (first, second)
    } else {
        (second, first)
    };
    refused.refused(400, "The current password is wrong");
    stack.get(ME, &changed.session()).await.ok();
}

#[tokio::test]
async fn a_new_password_needs_the_old_one_and_ends_every_other_session() {
    let (stack, acme) = Stack::with_workspace().await;
    let other = stack.signed_in(acme.owner.user_id, OWNER).await;
    let change = |current: &str, new: &str, again: &str| {
        let body = json!({ "currentPassword": current, "password": new, "passwordConfirmation": again });
        acme.owner.submit("/api/auth/change-password", body)
    };
    let new = "a new one entirely";
    let easy = "password is too easy to guess: take several words that have nothing to do with each other";
    for (current, new, again, message) in [
        ("wrong horse battery", new, new, "The current password is wrong"),
        (PASSWORD, new, "another", "Passwords do not match"),
        (
            PASSWORD,
            "short",
            "short",
            "password must have 10 to 128 characters",
        ),
        (PASSWORD, "password1234", "password1234", easy),
        (PASSWORD, OWNER, OWNER, easy),
    ] {
        change(current, new, again).await.refused(400, message);
    }
    let changed = change(PASSWORD, new, new).await.ok();
    for ended in [&acme.owner, &other] {
        ended.get(ME).await.refused(401, NOBODY);
    }
    stack.get(ME, &changed.session()).await.ok();
    let audited = audit_actions(&stack, "action = 'user.password_changed' AND actor = 'user'").await;
    assert_eq!(audited.len(), 1);
    stack.sign_in(OWNER, new).await.ok();
}

#[tokio::test]
async fn a_cookie_is_as_good_as_the_header_but_for_writes_of_other_sites() {
    let (stack, _) = Stack::with_workspace().await;
    let answer = stack.sign_in(OWNER, PASSWORD).await;
    let cookie = answer.header("set-cookie").split(';').next().unwrap().to_owned();
    for attribute in ["__Host-session=", "HttpOnly", "Secure", "SameSite=Lax", "Path=/"] {
        assert!(answer.header("set-cookie").contains(attribute), "{attribute}");
    }
    let foreign = ("origin", "https://evil.example");
    let ours = ("origin", "http://127.0.0.1:8080");
    for (method, path, (name, value), status) in [
        (Method::GET, ME, ("accept", "*/*"), 200),
        (Method::GET, ME, foreign, 200),
        (Method::POST, "/api/auth/logout", foreign, 403),
        (Method::POST, "/api/auth/logout", ("accept", "*/*"), 403),
        (
            Method::POST,
            "/api/auth/logout",
            ("sec-fetch-site", "cross-site"),
            403,
        ),
        (Method::POST, "/api/auth/logout", ours, 204),
    ] {
        let request = stack.request(method, path).header("cookie", &cookie);
        stack.send(request.header(name, value)).await.is(status);
    }
}
