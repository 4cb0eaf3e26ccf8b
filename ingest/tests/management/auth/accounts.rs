//! Signing in, staying signed in, signing out.

use chrono::{TimeDelta, TimeZone, Utc};
use domain::people::account::UserKind;
use reqwest::{Method, StatusCode};
use runtime::clock::Clock;
use serde_json::json;
use test_harness::{Answer, PASSWORD, Stack};

const NOBODY: &str = "Missing or invalid credentials";

#[tokio::test]
async fn address_and_password_open_a_session_that_says_who_one_is() {
    let stack = Stack::start().await;
    let workspace = stack.workspace("acme").await;
    let answer = stack.sign_in(" OWNER@acme.example ", PASSWORD).await;
    assert_eq!(answer.status, StatusCode::OK);
    let token = answer.body["jwt"].as_str().unwrap().to_owned();
    assert_eq!(
        answer.body["user"],
        json!({ "id": workspace.owner.user_id.get(), "email": "owner@acme.example", "name": "Somebody",
                "kind": "advertiser", "verified": true })
    );
    assert_eq!(answer.header("cache-control"), "no-store");
    let me = stack.get("/api/users/me", &token).await;
    assert_eq!(me.body["id"], answer.body["user"]["id"]);
    assert_eq!(
        me.body["workspaces"],
        json!([{ "id": workspace.workspace_id.get(), "name": "acme", "role": "owner", "second_factor_required": false, "permissions": {} }])
    );
    // Neither passwords nor tokens are stored in plain text.
    let stored: String = stack
        .value("SELECT string_agg(u::text, ' ') || string_agg(s::text, ' ') FROM users u, sessions s")
        .await;
    assert!(!stored.contains(&token) && !stored.contains(PASSWORD));
}

#[tokio::test]
async fn a_wrong_password_and_an_unknown_address_are_answered_alike() {
    let stack = Stack::start().await;
    stack.workspace("acme").await;
    let long = "x".repeat(5000);
    for (identifier, password) in [
        ("owner@acme.example", "wrong horse battery"),
        ("nobody@acme.example", PASSWORD),
        ("no address", PASSWORD),
        ("owner2@acme.example", long.as_str()),
    ] {
        let answer = stack.sign_in(identifier, password).await;
        answer.refused(400, "Invalid identifier or password");
        assert!(answer.headers.get("set-cookie").is_none());
    }
    for (body, message) in [
        (json!({ "password": PASSWORD }), "identifier is required"),
        (
            json!({ "identifier": "owner@acme.example" }),
            "password is required",
        ),
        (
            json!({ "identifier": 5, "password": PASSWORD }),
            "identifier is required",
        ),
    ] {
        stack
            .submit("/api/auth/local", None, body)
            .await
            .refused(400, message);
    }
}

#[tokio::test]
async fn guesses_run_out_for_the_account_wherever_they_come_from() {
    let stack = Stack::start_set(&[("SIGN_IN_LIMIT", "8")]).await;
    stack.workspace("acme").await;
    // The sign-in of `workspace` was the first of two a minute.
    let from = |address: &'static str, password: &'static str| {
        let body = json!({ "identifier": "Owner@acme.example", "password": password }).to_string();
        stack
            .request(Method::POST, "/api/auth/local")
            .header("x-forwarded-for", address)
            .body(body)
    };
    let second = stack.send(from("192.0.2.1", "wrong horse battery")).await;
    let third = stack.send(from("192.0.2.2", PASSWORD)).await;
    // The minute may have ended between the first two.
    let last = stack.send(from("192.0.2.3", PASSWORD)).await;
    assert_eq!(second.status, StatusCode::BAD_REQUEST);
    let limited: Vec<&Answer> = [&third, &last]
        .into_iter()
        .filter(|answer| answer.status == StatusCode::TOO_MANY_REQUESTS)
        .collect();
    let limited = limited.first().expect("two guesses a minute, and four tries");
    assert_eq!(limited.body["error"]["code"], "rate_limited");
    assert!(!limited.header("retry-after").is_empty());
}

#[tokio::test]
async fn a_suspended_account_is_told_so_only_when_it_knows_its_password() {
    let stack = Stack::start().await;
    let workspace = stack.workspace("acme").await;
    stack.execute("UPDATE users SET status = 'suspended'").await;
    let answer = stack.sign_in("owner@acme.example", PASSWORD).await;
    assert_eq!(answer.status, StatusCode::FORBIDDEN);
    assert_eq!(
        answer.body["error"]["details"],
        json!({ "code": "ACCOUNT_BLOCKED" })
    );
    let wrong = stack.sign_in("owner@acme.example", "wrong horse battery").await;
    wrong.refused(400, "Invalid identifier or password");
    // All open sessions end.
    stack
        .get("/api/users/me", &workspace.owner.token)
        .await
        .refused(401, NOBODY);
}

#[tokio::test]
async fn a_session_ends_when_it_is_signed_out_and_when_its_time_is_over() {
    let clock = Clock::manual(Utc.with_ymd_and_hms(2026, 11, 21, 12, 0, 0).unwrap());
    let stack = Stack::start_with(clock.clone()).await;
    let workspace = stack.workspace("acme").await;
    let other = stack
        .signed_in(workspace.owner.user_id, "owner@acme.example")
        .await;
    let out = stack
        .submit("/api/auth/logout", Some(&other.token), json!({}))
        .await;
    assert_eq!(out.status, StatusCode::NO_CONTENT);
    assert!(out.header("set-cookie").contains("Max-Age=0"));
    stack
        .get("/api/users/me", &other.token)
        .await
        .refused(401, NOBODY);
    // Used sessions last their full time; unused ones end earlier.
    for passing in [TimeDelta::days(2); 7] {
        assert_eq!(
            stack.get("/api/users/me", &workspace.owner.token).await.status,
            200
        );
        clock.advance(passing - TimeDelta::milliseconds(1));
    }
    assert_eq!(
        stack.get("/api/users/me", &workspace.owner.token).await.status,
        200
    );
    clock.advance(TimeDelta::milliseconds(7));
    stack
        .get("/api/users/me", &workspace.owner.token)
        .await
        .refused(401, NOBODY);
}

#[tokio::test]
async fn of_two_changes_at_once_one_is_of_the_current_password() {
    let stack = Stack::start().await;
    let owner = stack.workspace("acme").await.owner;
    let mut held = stack.pool().begin().await.unwrap();
    sqlx::query("SELECT FROM users WHERE id = $1 FOR UPDATE")
        .bind(owner.user_id.get())
        .execute(&mut *held)
        .await
        .unwrap();
    let change = async |new: &str| {
        let body = json!({ "currentPassword": PASSWORD, "password": new, "passwordConfirmation": new });
        stack
            .submit("/api/auth/change-password", Some(&owner.token), body)
            .await
    };
    let release = async {
        stack.locked_out("both have shown the current one", 2).await;
        held.rollback().await.unwrap();
    };
    let (first, second, ()) =
        tokio::join!(change("a new one entirely"), change("quite another one"), release);
    let (changed, refused) = if first.status == StatusCode::OK {
        (first, second)
    } else {
        (second, first)
    };
    refused.refused(400, "The current password is wrong");
    let token = changed.body["jwt"].as_str().unwrap();
    assert_eq!(stack.get("/api/users/me", token).await.status, StatusCode::OK);
}

#[tokio::test]
async fn a_new_password_needs_the_old_one_and_ends_every_other_session() {
    let stack = Stack::start().await;
    let workspace = stack.workspace("acme").await;
    let other = stack
        .signed_in(workspace.owner.user_id, "owner@acme.example")
        .await;
    let change = |current: &str, new: &str, again: &str| {
        let body = json!({ "currentPassword": current, "password": new, "passwordConfirmation": again });
        stack.submit("/api/auth/change-password", Some(&workspace.owner.token), body)
    };
    change("wrong horse battery", "a new one entirely", "a new one entirely")
        .await
        .refused(400, "The current password is wrong");
    change(PASSWORD, "a new one", "another")
        .await
        .refused(400, "Passwords do not match");
    change(PASSWORD, "short", "short")
        .await
        .refused(400, "password must have 10 to 128 characters");
    for easy in ["password1234", "owner@acme.example"] {
        change(PASSWORD, easy, easy).await.refused(
            400,
            "password is too easy to guess: take several words that have nothing to do with each other",
        );
    }
    let changed = change(PASSWORD, "a new one entirely", "a new one entirely").await;
    assert_eq!(changed.status, StatusCode::OK);
    for ended in [&workspace.owner.token, &other.token] {
        stack.get("/api/users/me", ended).await.refused(401, NOBODY);
    }
    let new = changed.body["jwt"].as_str().unwrap();
    assert_eq!(stack.get("/api/users/me", new).await.status, StatusCode::OK);
    let audited = stack
        .count("audit_log WHERE action = 'user.password_changed' AND actor = 'user'")
        .await;
    assert_eq!(audited, 1);
    assert_eq!(
        stack
            .sign_in("owner@acme.example", "a new one entirely")
            .await
            .status,
        200
    );
}

#[tokio::test]
async fn a_cookie_is_as_good_as_the_header_but_for_writes_of_other_sites() {
    let stack = Stack::start().await;
    stack.workspace("acme").await;
    let answer = stack.sign_in("owner@acme.example", PASSWORD).await;
    let cookie = answer.header("set-cookie").split(';').next().unwrap().to_owned();
    for attribute in ["__Host-session=", "HttpOnly", "Secure", "SameSite=Lax", "Path=/"] {
        assert!(answer.header("set-cookie").contains(attribute), "{attribute}");
    }
    let send = |method: Method, path: &str, headers: &[(&str, &str)]| {
        let request = stack.request(method, path).header("cookie", &cookie);
        let request = headers
            .iter()
            .fold(request, |request, (name, value)| request.header(*name, *value));
        stack.send(request)
    };
    let foreign = [("origin", "https://evil.example")];
    assert_eq!(
        send(Method::GET, "/api/users/me", &[]).await.status,
        StatusCode::OK
    );
    assert_eq!(
        send(Method::GET, "/api/users/me", &foreign).await.status,
        StatusCode::OK
    );
    for headers in [&foreign[..], &[], &[("sec-fetch-site", "cross-site")]] {
        let write = send(Method::POST, "/api/auth/logout", headers).await;
        assert_eq!(write.status, StatusCode::FORBIDDEN, "{headers:?}");
    }
    let ours = [("origin", "http://127.0.0.1:8080")];
    let write = send(Method::POST, "/api/auth/logout", &ours).await;
    assert_eq!(write.status, StatusCode::NO_CONTENT);
}

#[tokio::test]
async fn a_partners_session_is_good_but_not_for_what_is_the_advertisers() {
    let stack = Stack::start().await;
    let user_id = stack.user(UserKind::Partner, "ada@partner.example").await;
    let ada = stack.signed_in(user_id, "ada@partner.example").await;
    assert_eq!(
        stack.get("/api/users/me", &ada.token).await.body["kind"],
        "partner"
    );
    let programs = stack.get("/api/advertiser/affiliate-programs", &ada.token).await;
    assert_eq!(programs.status, StatusCode::FORBIDDEN);
}
