//! The second factor: its set-up, its use, its loss, and a workspace that requires it.

use chrono::TimeDelta;
use domain::people::permission::Role;
use futures::future::join_all;
use serde_json::{Value, json};
use test_harness::managed::{PROGRAMS, audit_actions, audited};
use test_harness::{Answer, Json, PASSWORD, Person, Stack, Workspace, ctl, rows, succeeds};
use totp_rs::Totp;

use crate::workspaces::invitations::invited;

const ME: &str = "/api/users/me";
const FACTOR: &str = "/api/users/me/second-factor";
const ENABLE: &str = "/api/users/me/second-factor/enable";
const RENEW: &str = "/api/users/me/second-factor/recovery-codes";
const REMOVE: &str = "/api/users/me/second-factor/remove";
const OWNER: &str = "owner@acme.example";
const WRONG: &str = "The code is wrong, or was used already";

/// A service with a clock that the test sets, and a user with an authenticator app.
struct Shop {
    stack: Stack,
    acme: Workspace,
    app: Totp,
    recovery_codes: Vec<String>,
}

impl Shop {
    async fn start() -> Self {
        let stack = Stack::at_noon().await;
        let acme = stack.workspace("acme").await;
        let (app, recovery_codes) = set_up(&stack, &acme.owner).await;
        Self {
            stack,
            acme,
            app,
            recovery_codes,
        }
    }

    /// The next code of the app: each code is accepted once.
    fn code(&self) -> String {
        self.stack.clock.advance(TimeDelta::seconds(30));
        code_of(&self.app, &self.stack)
    }

    async fn sign_in(&self, code: Option<&str>) -> Answer {
        sign_in(&self.stack, OWNER, code).await
    }
}

pub fn code_of(app: &Totp, stack: &Stack) -> String {
    let now = u64::try_from(stack.clock.now().timestamp()).unwrap();
    app.generate(now).to_string()
}

async fn sign_in(stack: &Stack, identifier: &str, code: Option<&str>) -> Answer {
    let body = json!({ "identifier": identifier, "password": PASSWORD, "code": code });
    stack.submit("/api/auth/local", None, body).await
}

/// Begins the set-up of an authenticator app.
async fn begun(person: &Person) -> Totp {
    let begun = person.submit(FACTOR, json!({})).await;
    Totp::from_url(begun.string("uri")).unwrap()
}

pub async fn set_up(stack: &Stack, person: &Person) -> (Totp, Vec<String>) {
    let app = begun(person).await;
    let body = json!({ "code": code_of(&app, stack) });
    let enabled = person.submit(ENABLE, body).await.ok();
    (app, recovery_codes(&enabled))
}

fn recovery_codes(answer: &Answer) -> Vec<String> {
    serde_json::from_value(answer.data()["recovery_codes"].clone()).unwrap()
}

async fn codes_left(stack: &Stack, session: &Answer) -> Value {
    let me = stack.get(ME, &session.session()).await;
    me.body["second_factor"]["recovery_codes_left"].clone()
}

fn asks_for_a_code(answer: &Answer) {
    answer.forbidden("SECOND_FACTOR_REQUIRED");
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
    let signed_in = shop.sign_in(Some(&code)).await.ok();
    shop.sign_in(Some(&code)).await.refused(400, WRONG);
    assert_eq!(codes_left(&shop.stack, &signed_in).await, 10);
}

#[tokio::test]
async fn of_many_who_show_one_code_at_once_one_is_let_in() {
    let shop = Shop::start().await;
    for code in [shop.code(), shop.recovery_codes[0].clone()] {
        let answers = join_all((0..5).map(|_| shop.sign_in(Some(&code)))).await;
        let opened = answers.iter().filter(|answer| answer.status == 200);
        assert_eq!(opened.count(), 1, "{answers:?}");
    }
}

#[tokio::test]
async fn setting_it_up_needs_a_code_and_ends_every_other_session() {
    let (stack, acme) = Stack::with_workspace().await;
    let owner = acme.owner;
    let other = stack.signed_in(owner.user_id, OWNER).await;
    let enable = async |code: &str| owner.submit(ENABLE, json!({ "code": code })).await;
    let early = enable("000000").await;
    early.refused(409, "No second factor is being set up");
    let forgotten = begun(&owner).await;
    let second = owner.submit(FACTOR, json!({})).await;
    let app = Totp::from_url(second.string("uri")).unwrap();
    assert_eq!(app.issuer(), Some("Referral tracker"));
    assert_eq!(app.account_name(), OWNER);
    let secret = second.string("secret");
    assert_eq!(secret, app.secret().to_base32());
    // An unfinished set-up is not required at sign-in, and a second start replaces the first.
    sign_in(&stack, OWNER, None).await.ok();
    let wrong = enable(&code_of(&forgotten, &stack)).await;
    wrong.refused(400, "code is not what your app shows now");
    let codes = recovery_codes(&enable(&code_of(&app, &stack)).await);
    assert_eq!(codes.len(), 10);
    other.get(ME).await.is(401);
    owner.get(ME).await.ok();
    let again = owner.submit(FACTOR, json!({})).await;
    again.refused(409, "A second factor is in use already: remove it first");
    // Neither the secret nor the codes are stored in plain text.
    let stored = rows::text_of_all_rows(&stack).await;
    assert!(!codes.iter().any(|code| stored.contains(&code.replace('-', ""))));
    assert!(!stored.contains(&secret));
    let actions = audit_actions(&stack, "action LIKE '%second_factor%'").await;
    assert_eq!(actions, ["user.second_factor_enabled"]);
}

#[tokio::test]
async fn a_recovery_code_stands_in_once_and_a_new_list_ends_the_old_one() {
    let shop = Shop::start().await;
    let typed = shop.recovery_codes[3].to_uppercase().replace('-', " ");
    let signed_in = shop.sign_in(Some(&typed)).await.ok();
    shop.sign_in(Some(&typed)).await.refused(400, WRONG);
    assert_eq!(codes_left(&shop.stack, &signed_in).await, 9);
    let owner = shop.acme.owner.in_session(signed_in.session());
    let renew = |code: Option<String>| owner.submit(RENEW, json!({ "password": PASSWORD, "code": code }));
    asks_for_a_code(&renew(None).await);
    let renewed = recovery_codes(&renew(Some(shop.code())).await.ok());
    let old = shop.sign_in(Some(&shop.recovery_codes[0])).await;
    old.refused(400, WRONG);
    shop.sign_in(Some(&renewed[0])).await.ok();
    assert_eq!(audited(&shop.stack, "user.recovery_code_used").await, 2);
}

/// Covers every route that takes a password.
#[tokio::test]
async fn wherever_a_password_is_asked_for_the_code_is_too() {
    let shop = Shop::start().await;
    let (stack, owner) = (&shop.stack, &shop.acme.owner);
    let again = json!({ "password": PASSWORD });
    let new = "a new one entirely";
    let change = json!({ "currentPassword": PASSWORD, "password": new, "passwordConfirmation": new });
    for (path, body) in [
        ("/api/auth/confirm-password", &again),
        ("/api/auth/change-password", &change),
        (RENEW, &again),
        (REMOVE, &again),
    ] {
        asks_for_a_code(&owner.submit(path, body.clone()).await);
        let wrong = body.clone().with(json!({ "code": "000000" }));
        owner.submit(path, wrong).await.refused(400, WRONG);
    }
    // An invitation opens a session too.
    let rival = stack.workspace("rival").await;
    let invitation = invited(&rival.owner, OWNER, "member").await;
    let accept = async |code: Option<String>| {
        let body = json!({ "token": invitation, "password": PASSWORD, "code": code });
        stack.submit("/api/auth/invitations/accept", None, body).await
    };
    asks_for_a_code(&accept(None).await);
    assert_eq!(stack.count("workspace_members").await, 2);
    accept(Some(shop.code())).await.created();

    let right = again.with(json!({ "code": shop.code() }));
    owner.submit(REMOVE, right).await.is(204);
    shop.sign_in(None).await.ok();
}

#[tokio::test]
async fn guesses_at_a_code_run_out() {
    // Four codes an hour; the limits of addresses and accounts are higher.
    let stack = Stack::start_set(&[("CODE_LIMIT", "4")]).await;
    let acme = stack.workspace("acme").await;
    // The set-up counts as one.
    let (_, codes) = set_up(&stack, &acme.owner).await;
    let mut limited = None;
    // The hour may end once.
    for _ in 0..9 {
        let answer = sign_in(&stack, OWNER, Some("000000")).await;
        if answer.status == 429 {
            limited = Some(answer);
            break;
        }
        answer.refused(400, WRONG);
    }
    let limited = limited.expect("a guess too many");
    assert_eq!(limited.body["error"]["code"], "rate_limited");
    // Now even a valid code does not open the account.
    sign_in(&stack, OWNER, Some(&codes[0])).await.is(429);
}

#[tokio::test]
async fn a_workspace_may_require_it_of_its_members() {
    let shop = Shop::start().await;
    let (stack, acme) = (&shop.stack, &shop.acme);
    let admin = acme.join(stack, "admin", Role::Admin).await;
    let sam = acme.join(stack, "sam", Role::Member).await;
    let second = acme.join(stack, "second", Role::Owner).await;
    let path = format!("/api/advertiser/workspaces/{}", acme.workspace_id);
    let require = async |person: &Person| person.put(&path, json!({ "second_factor_required": true })).await;
    let forbidden = require(&admin).await;
    forbidden.refused(403, "You do not have access to this resource");
    let without = require(&second).await;
    without.refused(409, "Set up a second factor of your own first");
    let required = require(&acme.owner).await;
    required
        .data()
        .has(json!({ "second_factor_required": true, "name": "acme" }));

    acme.owner.get(PROGRAMS).await.ok();
    sam.get(PROGRAMS).await.forbidden("SECOND_FACTOR_MISSING");
    let me = sam.get(ME).await;
    assert_eq!(me.body["workspaces"][0]["second_factor_required"], true);
    let listed = acme.owner.get("/api/advertiser/members?pageSize=100").await;
    assert_eq!(listed.column("second_factor"), json!([true, false, false, false]));
    // These users may set up a factor; then everything works again.
    set_up(stack, &sam).await;
    sam.get(PROGRAMS).await.ok();
    let remove = json!({ "password": PASSWORD, "code": shop.code() });
    let kept = acme.owner.submit(REMOVE, remove).await;
    kept.refused(409, "A workspace of yours requires a second factor");
}

#[tokio::test]
async fn a_partner_may_have_one() {
    let stack = Stack::start().await;
    let email = "ada@partner.example";
    let ada = stack.account_of(email, &[]).await;
    let (_, codes) = set_up(&stack, &ada).await;
    asks_for_a_code(&sign_in(&stack, email, None).await);
    sign_in(&stack, email, Some(&codes[0])).await.ok();
}

#[tokio::test]
async fn an_operator_takes_a_lost_second_factor_away() {
    let shop = Shop::start().await;
    let arguments = ["user", "reset-second-factor", "--email", OWNER];
    let reset = succeeds(&shop.stack, &arguments).await;
    assert_eq!(reset.fact("sessions_ended"), "1");
    shop.acme.owner.get(ME).await.is(401);
    shop.sign_in(None).await.ok();
    let noted = audit_actions(&shop.stack, "actor = 'operator'").await;
    assert_eq!(noted.last().unwrap(), "user.second_factor_reset");
    let again = ctl(&shop.stack, &arguments).await;
    assert!(
        !again.ok && again.err.contains("has no second factor"),
        "{again:?}"
    );
}
