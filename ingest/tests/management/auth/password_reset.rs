//! A link that arrives by e-mail replaces a forgotten password. No answer reveals whether an address has an
//! account.

use chrono::TimeDelta;
use domain::people::account::UserKind;
use domain::token::PasswordResetToken;
use runtime::clock::Clock;
use serde_json::json;
use test_harness::managed::{Managed, audited, token};
use test_harness::{Answer, Json, MailServer, PASSWORD, Stack, noon, statuses};

use super::second_factor::{code_of, set_up};

const RESET: &str = "/api/auth/password-reset";
const NEW_PASSWORD: &str = "kettle ambush violin";
const ENDED: &str = "Link not found, or no longer valid";
const OWNER: &str = "owner@acme.example";
const ADA: &str = "ada@letters.example";
const SUBJECT: &str = "Choose a new password";

async fn ask(stack: &Stack, email: &str) -> Answer {
    stack.submit(RESET, None, json!({ "email": email })).await
}

async fn inspect(stack: &Stack, token: &str) -> Answer {
    let path = format!("{RESET}/inspect");
    stack.submit(&path, None, json!({ "token": token })).await
}

/// Replaces the password by [`NEW_PASSWORD`].
async fn complete(stack: &Stack, token: &str, code: Option<&str>) -> Answer {
    let body = json!({ "token": token, "password": NEW_PASSWORD, "code": code });
    stack.submit(&format!("{RESET}/complete"), None, body).await
}

/// Asserts that a link's token is good for nothing.
async fn ended(stack: &Stack, token: &str) {
    inspect(stack, token).await.refused(404, ENDED);
    complete(stack, token, None).await.refused(404, ENDED);
}

/// Requests a link, and returns its token.
async fn sent_token(stack: &Stack, mail: &MailServer, email: &str) -> String {
    let before = mail.about(email, SUBJECT).len();
    ask(stack, email).await.ok();
    mail.received_after(stack, email, SUBJECT, before).await.token()
}

#[tokio::test]
async fn a_partner_is_invited_by_mail_accepts_and_replaces_a_forgotten_password() {
    let (stack, mail) = Stack::with_mail(Clock::system()).await;
    let acme = stack.workspace("acme").await;
    let program = Managed::new(&stack, &acme, "Shop affiliates").await;
    let added = program.partner(&stack, ADA, "approved").await;
    assert_eq!(added["invitation_emailed"], true);

    let invitation = mail.received(&stack, ADA, "partner of Shop affiliates").await;
    assert_eq!(invitation.header("From"), "Acme <mail@referrals.example>");
    let link = invitation.link("http://127.0.0.1:8080/invitation#");
    assert!(link.ends_with(&invitation.token()), "{link}");
    let session = stack.accept(&invitation.token(), "Ada").await.created().session();

    let token = sent_token(&stack, &mail, ADA).await;
    let inspected = inspect(&stack, &token).await;
    inspected
        .data()
        .has(json!({ "email": ADA, "second_factor": false }));
    complete(&stack, &token, None).await.is(204);

    stack.get("/api/users/me", &session).await.is(401);
    let old = stack.sign_in(ADA, PASSWORD).await;
    old.refused(400, "Invalid identifier or password");
    let signed_in = stack.sign_in(ADA, NEW_PASSWORD).await.ok();
    // The link has verified the address.
    assert_eq!(signed_in.body["user"]["verified"], true);
    let told = mail.received(&stack, ADA, "password was changed").await.text();
    assert!(told.contains("replaced with a link"), "{told}");
    stack.reaches("emails WHERE state = 'waiting'", 0).await;
    let kept: String = stack.value("SELECT string_agg(e::text, ' ') FROM emails e").await;
    assert!(kept.contains("partner_invitation"), "{kept}");
    assert!(
        !kept.contains("ada@") && !kept.contains("Shop affiliates"),
        "{kept}"
    );
}

#[tokio::test]
async fn nobody_learns_whether_an_address_has_an_account() {
    let (stack, mail) = Stack::with_mail(Clock::manual(noon())).await;
    stack.workspace("acme").await;
    stack.user(UserKind::Partner, "gone@letters.example").await;
    let statement = "UPDATE users SET status = 'suspended' WHERE kind = 'partner'";
    stack.execute(statement).await;
    let mut answers = Vec::new();
    for email in [
        OWNER,
        "nobody@acme.example",
        "gone@letters.example",
        " OWNER@acme.example ",
    ] {
        let mut answer = ask(&stack, email).await.ok();
        for changing in ["date", "x-request-id"] {
            answer.headers.remove(changing);
        }
        answers.push(answer);
    }
    assert_eq!(answers[0].body, json!({ "data": { "requested": true } }));
    assert!(answers.iter().all(|answer| *answer == answers[0]), "{answers:?}");
    // Only addresses with an account get an e-mail; for other addresses nothing is stored.
    let links = "emails WHERE kind = 'password_reset'";
    stack.reaches(&format!("{links} AND state = 'sent'"), 2).await;
    assert_eq!(stack.count(links).await, 2);
    assert_eq!(
        stack
            .count("one_time_links WHERE purpose = 'password_reset'")
            .await,
        2
    );
    assert!(mail.taken().iter().all(|email| email.to == OWNER));
    for unusable in [json!({ "email": "nobody" }), json!({ "email": 7 }), json!({})] {
        stack.submit(RESET, None, unusable).await.is(400);
    }
}

#[tokio::test]
async fn a_link_works_once_and_for_an_hour() {
    let (stack, mail) = Stack::with_mail(Clock::manual(noon())).await;
    stack.workspace("acme").await;
    let first = sent_token(&stack, &mail, OWNER).await;
    let second = sent_token(&stack, &mail, OWNER).await;
    assert_ne!(first, second);
    // A new request does not end the earlier link.
    inspect(&stack, &first).await.ok();
    let weak = json!({ "token": first, "password": "password123" });
    stack
        .submit(&format!("{RESET}/complete"), None, weak)
        .await
        .is(400);
    let both = tokio::join!(complete(&stack, &first, None), complete(&stack, &first, None));
    assert_eq!(statuses([both.0, both.1]), [204, 404]);
    // The other link ends with it.
    for token in [&first, &second] {
        ended(&stack, token).await;
    }
    assert_eq!(audited(&stack, "user.password_reset").await, 1);

    let late = sent_token(&stack, &mail, OWNER).await;
    stack.clock.advance(TimeDelta::minutes(61));
    let unknown = PasswordResetToken::generate([9; 32]);
    for token in [&late, unknown.expose(), "affr_", "", &late[1..]] {
        ended(&stack, token).await;
    }
    stack.sign_in(OWNER, NEW_PASSWORD).await.ok();
}

#[tokio::test]
async fn a_changed_password_ends_links_that_were_asked_for_before() {
    let (stack, mail) = Stack::with_mail(Clock::system()).await;
    let acme = stack.workspace("acme").await;
    let token = sent_token(&stack, &mail, OWNER).await;
    let body = json!({ "currentPassword": PASSWORD, "password": NEW_PASSWORD,
                       "passwordConfirmation": NEW_PASSWORD });
    acme.owner.submit("/api/auth/change-password", body).await.ok();
    inspect(&stack, &token).await.refused(404, ENDED);
    let told = mail.received(&stack, OWNER, "password was changed").await.text();
    assert!(!told.contains("link that was sent"), "{told}");
}

/// The mailbox alone does not open an account that has a second factor.
#[tokio::test]
async fn a_second_factor_is_asked_for_and_stays() {
    let (stack, mail) = Stack::with_mail(Clock::manual(noon())).await;
    let acme = stack.workspace("acme").await;
    let (app, _) = set_up(&stack, &acme.owner).await;

    let token = sent_token(&stack, &mail, OWNER).await;
    assert_eq!(inspect(&stack, &token).await.data()["second_factor"], true);
    complete(&stack, &token, None)
        .await
        .forbidden("SECOND_FACTOR_REQUIRED");
    let wrong = complete(&stack, &token, Some("000000")).await;
    wrong.refused(400, "The code is wrong, or was used already");
    assert_eq!(
        stack
            .count("one_time_links WHERE purpose = 'password_reset' AND ended_at IS NULL")
            .await,
        1
    );
    stack.clock.advance(TimeDelta::seconds(30));
    complete(&stack, &token, Some(&code_of(&app, &stack)))
        .await
        .is(204);
    stack.sign_in(OWNER, NEW_PASSWORD).await.is(403);
}

#[tokio::test]
async fn requests_are_limited_by_client_and_by_account_whether_there_is_one_or_not() {
    let (stack, _mail) = Stack::with_mail_set(Clock::manual(noon()), &[("SIGN_IN_LIMIT", "12")]).await;
    for email in ["nobody@acme.example", OWNER] {
        for status in [200, 200, 200, 429] {
            ask(&stack, email).await.is(status);
        }
    }
}

#[tokio::test]
async fn without_email_links_are_shown_and_passwords_are_not_replaced() {
    let (stack, program) = Stack::with_managed().await;
    let options = stack.visit("/api/auth/sign-in-options").await;
    assert_eq!(*options.data(), json!({ "password_reset": false }));
    let off = "E-mail is not set up here: whoever runs this installation can replace a password";
    ask(&stack, OWNER).await.refused(404, off);
    let unknown = PasswordResetToken::generate([9; 32]);
    inspect(&stack, unknown.expose()).await.refused(404, off);
    complete(&stack, unknown.expose(), None).await.refused(404, off);
    let added = program.partner(&stack, ADA, "approved").await;
    assert_eq!(added["invitation_emailed"], false);
    stack
        .accept(&token(&added["invitation_url"]), "Ada")
        .await
        .created();
    assert_eq!(stack.count("emails").await, 0);
}
