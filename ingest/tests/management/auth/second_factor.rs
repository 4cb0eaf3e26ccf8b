//! The second factor: its set-up, its use, its loss, and a workspace that requires it.

use chrono::TimeDelta;
use domain::people::account::UserKind;
use domain::people::permission::Role;
use reqwest::StatusCode;
use runtime::clock::Clock;
use serde_json::{Value, json};
use totp_rs::Totp;

use crate::workspaces::invitations::invited;
use test_harness::{Answer, PASSWORD, Person, Stack, Workspace, ctl};

const FACTOR: &str = "/api/users/me/second-factor";
const OWNER: &str = "owner@acme.example";
const WRONG: &str = "The code is wrong, or was used already";

/// A service with a clock that the test sets, and a user with an authenticator app.
struct Shop {
    stack: Stack,
    clock: Clock,
    acme: Workspace,
    app: Totp,
    recovery_codes: Vec<String>,
}

impl Shop {
    async fn start() -> Self {
        let clock = Clock::manual("2026-11-21T12:00:00Z".parse().unwrap());
        let stack = Stack::start_with(clock.clone()).await;
        let acme = stack.workspace("acme").await;
        let (app, recovery_codes) = set_up(&stack, &acme.owner).await;
        Self {
            stack,
            clock,
            acme,
            app,
            recovery_codes,
        }
    }

    /// The next code of the app: each code is accepted once.
    fn code(&self) -> String {
        self.clock.advance(TimeDelta::seconds(30));
        code_of(&self.app, &self.stack)
    }

    async fn sign_in(&self, code: Option<&str>) -> Answer {
        sign_in(&self.stack, OWNER, code).await
    }
}

fn code_of(app: &Totp, stack: &Stack) -> String {
    let now = u64::try_from(stack.clock.now().timestamp()).unwrap();
    app.generate(now).to_string()
}

async fn sign_in(stack: &Stack, identifier: &str, code: Option<&str>) -> Answer {
    let body = json!({ "identifier": identifier, "password": PASSWORD, "code": code });
    stack.submit("/api/auth/local", None, body).await
}

async fn set_up(stack: &Stack, person: &Person) -> (Totp, Vec<String>) {
    let begun = stack.submit(FACTOR, Some(&person.token), json!({})).await;
    let app = Totp::from_url(begun.body["data"]["uri"].as_str().unwrap()).unwrap();
    let body = json!({ "code": code_of(&app, stack) });
    let enabled = stack
        .submitted(&format!("{FACTOR}/enable"), Some(&person.token), body)
        .await;
    let codes = enabled.body["data"]["recovery_codes"].clone();
    (app, serde_json::from_value(codes).unwrap())
}

fn asks_for_a_code(answer: &Answer) {
    assert_eq!(answer.status, StatusCode::FORBIDDEN, "{answer:?}");
    assert_eq!(
        answer.body["error"]["details"],
        json!({ "code": "SECOND_FACTOR_REQUIRED" })
    );
    assert!(answer.headers.get("set-cookie").is_none());
}

#[tokio::test]
async fn with_a_second_factor_the_password_alone_opens_nothing() {
    let shop = Shop::start().await;
    asks_for_a_code(&shop.sign_in(None).await);
    for wrong in ["000000", "", "no code", &"1".repeat(5000)] {
        shop.sign_in(Some(wrong)).await.refused(400, WRONG);
    }
    let code = shop.code();
    let body = json!({ "identifier": OWNER, "password": "wrong horse battery", "code": code });
    let answer = shop.stack.submit("/api/auth/local", None, body).await;
    answer.refused(400, "Invalid identifier or password");
    // A code that was part of a failed sign-in is still valid, once.
    let signed_in = shop.sign_in(Some(&code)).await;
    assert_eq!(signed_in.status, StatusCode::OK);
    shop.sign_in(Some(&code)).await.refused(400, WRONG);
    let token = signed_in.body["jwt"].as_str().unwrap();
    let me = shop.stack.get("/api/users/me", token).await;
    assert_eq!(me.body["second_factor"]["recovery_codes_left"], 10);
}

#[tokio::test]
async fn of_many_who_show_one_code_at_once_one_is_let_in() {
    let shop = Shop::start().await;
    for code in [shop.code(), shop.recovery_codes[0].clone()] {
        let tries = (0..5).map(|_| shop.sign_in(Some(&code)));
        let answers = futures::future::join_all(tries).await;
        let opened = answers.iter().filter(|answer| answer.status == StatusCode::OK);
        assert_eq!(opened.count(), 1, "{answers:?}");
    }
}

#[tokio::test]
async fn setting_it_up_needs_a_code_and_ends_every_other_session() {
    let stack = Stack::start().await;
    let acme = stack.workspace("acme").await;
    let other = stack.signed_in(acme.owner.user_id, OWNER).await;
    let token = Some(acme.owner.token.as_str());
    let enable = |code: String| {
        stack.submit(
            "/api/users/me/second-factor/enable",
            token,
            json!({ "code": code }),
        )
    };
    enable("000000".to_owned())
        .await
        .refused(409, "No second factor is being set up");
    let first = stack.submit(FACTOR, token, json!({})).await;
    let forgotten = Totp::from_url(first.body["data"]["uri"].as_str().unwrap()).unwrap();
    let second = stack.submit(FACTOR, token, json!({})).await;
    let app = Totp::from_url(second.body["data"]["uri"].as_str().unwrap()).unwrap();
    assert_eq!(app.issuer(), Some("Referral tracker"));
    assert_eq!(app.account_name(), OWNER);
    assert_eq!(second.body["data"]["secret"], app.secret().to_base32());
    // An unfinished set-up is not required at sign-in, and a second start replaces the first.
    assert_eq!(sign_in(&stack, OWNER, None).await.status, StatusCode::OK);
    let wrong = "code is not what your app shows now";
    enable(code_of(&forgotten, &stack)).await.refused(400, wrong);
    let enabled = enable(code_of(&app, &stack)).await;
    let codes: Vec<String> = serde_json::from_value(enabled.body["data"]["recovery_codes"].clone()).unwrap();
    assert_eq!(codes.len(), 10);
    assert_eq!(stack.get("/api/users/me", &other.token).await.status, 401);
    assert_eq!(stack.get("/api/users/me", &acme.owner.token).await.status, 200);
    let again = stack.submit(FACTOR, token, json!({})).await;
    again.refused(409, "A second factor is in use already: remove it first");
    // Neither the secret nor the codes are stored in plain text.
    let stored: String = stack
        .value("SELECT string_agg(f::text, ' ') || string_agg(c::text, ' ') FROM second_factors f, recovery_codes c")
        .await;
    assert!(!codes.iter().any(|code| stored.contains(&code.replace('-', ""))));
    assert!(!stored.contains(second.body["data"]["secret"].as_str().unwrap()));
    let actions: String = stack
        .value(
            "SELECT string_agg(action, ' ' ORDER BY id) FROM audit_log WHERE action LIKE '%second_factor%'",
        )
        .await;
    assert_eq!(actions, "user.second_factor_enabled");
}

#[tokio::test]
async fn a_recovery_code_stands_in_once_and_a_new_list_ends_the_old_one() {
    let shop = Shop::start().await;
    let typed = shop.recovery_codes[3].to_uppercase().replace('-', " ");
    let signed_in = shop.sign_in(Some(&typed)).await;
    assert_eq!(signed_in.status, StatusCode::OK);
    shop.sign_in(Some(&typed)).await.refused(400, WRONG);
    let token = signed_in.body["jwt"].as_str().unwrap();
    let me = shop.stack.get("/api/users/me", token).await;
    assert_eq!(me.body["second_factor"]["recovery_codes_left"], 9);
    let renew = async |code: Value| {
        let body = json!({ "password": PASSWORD, "code": code });
        let path = format!("{FACTOR}/recovery-codes");
        shop.stack.submit(&path, Some(token), body).await
    };
    asks_for_a_code(&renew(Value::Null).await);
    let renewed = renew(shop.code().into()).await;
    assert_eq!(renewed.status, StatusCode::OK, "{renewed:?}");
    shop.sign_in(Some(&shop.recovery_codes[0]))
        .await
        .refused(400, WRONG);
    let new = renewed.body["data"]["recovery_codes"][0].as_str().unwrap();
    assert_eq!(shop.sign_in(Some(new)).await.status, StatusCode::OK);
    let uses = shop
        .stack
        .count("audit_log WHERE action = 'user.recovery_code_used'")
        .await;
    assert_eq!(uses, 2);
}

/// Covers every route that takes a password.
#[tokio::test]
async fn wherever_a_password_is_asked_for_the_code_is_too() {
    let shop = Shop::start().await;
    let token = Some(shop.acme.owner.token.as_str());
    let again = json!({ "password": PASSWORD });
    let change = json!({ "currentPassword": PASSWORD, "password": "a new one entirely", "passwordConfirmation": "a new one entirely" });
    for (path, body) in [
        ("/api/auth/confirm-password", &again),
        ("/api/auth/change-password", &change),
        ("/api/users/me/second-factor/recovery-codes", &again),
        ("/api/users/me/second-factor/remove", &again),
    ] {
        asks_for_a_code(&shop.stack.submit(path, token, body.clone()).await);
        let mut wrong = body.clone();
        wrong["code"] = json!("000000");
        shop.stack.submit(path, token, wrong).await.refused(400, WRONG);
    }
    // An invitation opens a session too.
    let rival = shop.stack.workspace("rival").await;
    let invitation = invited(&shop.stack, &rival.owner, OWNER, "member").await;
    let accept = async |code: Value| {
        let body = json!({ "token": invitation, "password": PASSWORD, "code": code });
        shop.stack
            .submit("/api/auth/invitations/accept", None, body)
            .await
    };
    asks_for_a_code(&accept(Value::Null).await);
    let members = shop.stack.count("workspace_members").await;
    assert_eq!(members, 2);
    assert_eq!(accept(shop.code().into()).await.status, StatusCode::CREATED);

    let mut right = again;
    right["code"] = shop.code().into();
    let removed = shop.stack.submit(&format!("{FACTOR}/remove"), token, right).await;
    assert_eq!(removed.status, StatusCode::NO_CONTENT);
    assert_eq!(shop.sign_in(None).await.status, StatusCode::OK);
}

#[tokio::test]
async fn guesses_at_a_code_run_out() {
    let clock = Clock::manual("2026-11-21T12:00:00Z".parse().unwrap());
    let mut stack = Stack::without_services(clock).await;
    // Four codes an hour; the limits of addresses and accounts are higher.
    stack.set("CODE_LIMIT", "4");
    stack.start_services().await;
    let acme = stack.workspace("acme").await;
    // The set-up counts as one.
    let (_, codes) = set_up(&stack, &acme.owner).await;
    let mut limited = None;
    // The hour may end once.
    for _ in 0..9 {
        let answer = sign_in(&stack, OWNER, Some("000000")).await;
        if answer.status == StatusCode::TOO_MANY_REQUESTS {
            limited = Some(answer);
            break;
        }
        answer.refused(400, WRONG);
    }
    let limited = limited.expect("a guess too many");
    assert_eq!(limited.body["error"]["code"], "rate_limited");
    // Now even a valid code does not open the account.
    let right = sign_in(&stack, OWNER, Some(&codes[0])).await;
    assert_eq!(right.status, StatusCode::TOO_MANY_REQUESTS);
}

#[tokio::test]
async fn a_workspace_may_require_it_of_its_members() {
    let shop = Shop::start().await;
    let (stack, acme) = (&shop.stack, &shop.acme);
    let admin = stack
        .member(acme.workspace_id, "admin@acme.example", Role::Admin)
        .await;
    let sam = stack
        .member(acme.workspace_id, "sam@acme.example", Role::Member)
        .await;
    let path = format!("/api/advertiser/workspaces/{}", acme.workspace_id);
    let require = json!({ "second_factor_required": true });
    let forbidden = "You do not have access to this resource";
    stack
        .put(&path, &admin.token, require.clone())
        .await
        .refused(403, forbidden);
    let second = stack
        .member(acme.workspace_id, "second@acme.example", Role::Owner)
        .await;
    let without = stack.put(&path, &second.token, require.clone()).await;
    without.refused(409, "Set up a second factor of your own first");
    let required = stack.put(&path, &acme.owner.token, require).await;
    assert_eq!(required.body["data"]["second_factor_required"], true);
    assert_eq!(required.body["data"]["name"], "acme");

    let programs = "/api/advertiser/affiliate-programs";
    assert_eq!(stack.get(programs, &acme.owner.token).await.status, 200);
    let missing = stack.get(programs, &sam.token).await;
    assert_eq!(missing.status, StatusCode::FORBIDDEN);
    assert_eq!(
        missing.body["error"]["details"],
        json!({ "code": "SECOND_FACTOR_MISSING" })
    );
    let me = stack.get("/api/users/me", &sam.token).await;
    assert_eq!(me.body["workspaces"][0]["second_factor_required"], true);
    let listed = stack
        .get("/api/advertiser/members?pageSize=100", &acme.owner.token)
        .await;
    let has: Vec<bool> = listed.body["data"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| it["second_factor"] == true)
        .collect();
    assert_eq!(has, [true, false, false, false]);
    // These users may set up a factor; then everything works again.
    set_up(stack, &sam).await;
    assert_eq!(stack.get(programs, &sam.token).await.status, 200);
    let remove = json!({ "password": PASSWORD, "code": shop.code() });
    let kept = stack
        .submit(&format!("{FACTOR}/remove"), Some(&acme.owner.token), remove)
        .await;
    kept.refused(409, "A workspace of yours requires a second factor");
}

#[tokio::test]
async fn a_partner_may_have_one() {
    let stack = Stack::start().await;
    let email = "ada@partner.example";
    let user_id = stack.user(UserKind::Partner, email).await;
    let ada = stack.signed_in(user_id, email).await;
    let (_, codes) = set_up(&stack, &ada).await;
    asks_for_a_code(&sign_in(&stack, email, None).await);
    assert_eq!(
        sign_in(&stack, email, Some(&codes[0])).await.status,
        StatusCode::OK
    );
}

#[tokio::test]
async fn an_operator_takes_a_lost_second_factor_away() {
    let shop = Shop::start().await;
    let arguments = ["user", "reset-second-factor", "--email", OWNER];
    let reset = ctl(&shop.stack, &arguments).await;
    assert!(reset.ok, "{reset:?}");
    assert_eq!(reset.fact("sessions_ended"), "1");
    assert_eq!(
        shop.stack
            .get("/api/users/me", &shop.acme.owner.token)
            .await
            .status,
        401
    );
    assert_eq!(shop.sign_in(None).await.status, StatusCode::OK);
    let noted: String = shop
        .stack
        .value(
            "SELECT actor || ' ' || action FROM audit_log WHERE actor = 'operator' ORDER BY id DESC LIMIT 1",
        )
        .await;
    assert_eq!(noted, "operator user.second_factor_reset");
    let again = ctl(&shop.stack, &arguments).await;
    assert!(
        !again.ok && again.err.contains("has no second factor"),
        "{again:?}"
    );
}
