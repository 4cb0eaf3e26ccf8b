//! A link that arrives by e-mail replaces a forgotten password. No answer reveals whether an address has an
//! account.

use chrono::TimeDelta;
use domain::people::account::UserKind;
use domain::token::PasswordResetToken;
use reqwest::{Method, StatusCode};
use runtime::clock::Clock;
use serde_json::{Value, json};
use test_harness::{
    Answer, MailServer, PASSWORD, Stack,
    managed::{Managed, audited},
    noon,
};
use totp_rs::Totp;

const RESET: &str = "/api/auth/password-reset";
const NEW_PASSWORD: &str = "kettle ambush violin";
const ENDED: &str = "Link not found, or no longer valid";
const OWNER: &str = "owner@acme.example";
const SUBJECT: &str = "Choose a new password";

/// A service that sends e-mails, and the mail server that receives them.
async fn with_mail(clock: Clock) -> (Stack, MailServer) {
    let mail = MailServer::start().await;
    let mut stack = Stack::without_services(clock).await;
    mail.set_in(&mut stack);
    stack.start_services().await;
    stack.start_delivery();
    (stack, mail)
}

async fn ask(stack: &Stack, email: &str) -> Answer {
    stack.submit(RESET, None, json!({ "email": email })).await
}

async fn inspect(stack: &Stack, token: &str) -> Answer {
    stack
        .submit(&format!("{RESET}/inspect"), None, json!({ "token": token }))
        .await
}

async fn complete(stack: &Stack, body: Value) -> Answer {
    stack.submit(&format!("{RESET}/complete"), None, body).await
}

/// Requests a link, and returns its token.
async fn sent_token(stack: &Stack, mail: &MailServer, email: &str) -> String {
    let before = mail.about(email, SUBJECT).len();
    assert_eq!(ask(stack, email).await.status, StatusCode::OK);
    mail.received_after(stack, email, SUBJECT, before).await.token()
}

#[tokio::test]
async fn a_partner_is_invited_by_mail_accepts_and_replaces_a_forgotten_password() {
    let (stack, mail) = with_mail(Clock::system()).await;
    let acme = stack.workspace("acme").await;
    let program = Managed::new(&stack, &acme, "Shop affiliates").await;
    let added = program.partner(&stack, "ada@letters.example", "approved").await;
    assert_eq!(added["invitation_emailed"], true);

    let invitation = mail
        .received(&stack, "ada@letters.example", "partner of Shop affiliates")
        .await;
    assert_eq!(invitation.header("From"), "Acme <mail@referrals.example>");
    let link = invitation.link("http://127.0.0.1:8080/invitation#");
    assert!(link.ends_with(&invitation.token()), "{link}");
    let body = json!({ "token": invitation.token(), "name": "Ada", "password": PASSWORD });
    let accepted = stack.created("/api/auth/invitations/accept", None, body).await;
    let session = accepted.body["jwt"].as_str().unwrap().to_owned();

    let token = sent_token(&stack, &mail, "ada@letters.example").await;
    let inspected = inspect(&stack, &token).await;
    assert_eq!(inspected.body["data"]["email"], "ada@letters.example");
    assert_eq!(inspected.body["data"]["second_factor"], false);
    let replaced = complete(&stack, json!({ "token": token, "password": NEW_PASSWORD })).await;
    assert_eq!(replaced.status, StatusCode::NO_CONTENT, "{replaced:?}");

    assert_eq!(
        stack.get("/api/users/me", &session).await.status,
        StatusCode::UNAUTHORIZED
    );
    let old = stack.sign_in("ada@letters.example", PASSWORD).await;
    old.refused(400, "Invalid identifier or password");
    let signed_in = stack.sign_in("ada@letters.example", NEW_PASSWORD).await;
    assert_eq!(signed_in.status, StatusCode::OK, "{signed_in:?}");
    // The link has verified the address.
    assert_eq!(signed_in.body["user"]["verified"], true);
    let told = mail
        .received(&stack, "ada@letters.example", "password was changed")
        .await;
    assert!(told.text().contains("replaced with a link"), "{}", told.text());
    stack.reaches("emails WHERE state = 'waiting'", 0).await;
    let kept: String = stack.value("SELECT string_agg(e::text, ' ') FROM emails e").await;
    assert!(
        !kept.contains("ada@") && !kept.contains("Shop affiliates") && kept.contains("partner_invitation"),
        "{kept}"
    );
}

#[tokio::test]
async fn nobody_learns_whether_an_address_has_an_account() {
    let (stack, mail) = with_mail(Clock::manual(noon())).await;
    stack.workspace("acme").await;
    let suspended = stack.user(UserKind::Partner, "gone@letters.example").await;
    stack
        .execute(&format!(
            "UPDATE users SET status = 'suspended' WHERE id = {suspended}"
        ))
        .await;
    let mut answers = Vec::new();
    for email in [
        OWNER,
        "nobody@acme.example",
        "gone@letters.example",
        " OWNER@acme.example ",
    ] {
        let request = stack
            .request(Method::POST, RESET)
            .json(&json!({ "email": email }));
        let answer = request.send().await.unwrap();
        let mut headers = answer.headers().clone();
        for changing in ["date", "x-request-id"] {
            headers.remove(changing);
        }
        answers.push((answer.status(), headers, answer.bytes().await.unwrap()));
    }
    assert_eq!(answers[0].0, StatusCode::OK);
    assert_eq!(answers[0].2, r#"{"data":{"requested":true}}"#);
    assert!(answers.iter().all(|answer| *answer == answers[0]), "{answers:?}");
    // Only addresses with an account get an e-mail; for other addresses nothing is stored.
    let links = "emails WHERE kind = 'password_reset'";
    stack.reaches(&format!("{links} AND state = 'sent'"), 2).await;
    assert_eq!(stack.count(links).await, 2);
    assert_eq!(stack.count("password_resets").await, 2);
    assert!(mail.taken().iter().all(|email| email.to == OWNER));
    for unusable in [json!({ "email": "nobody" }), json!({ "email": 7 }), json!({})] {
        let refused = stack.submit(RESET, None, unusable).await;
        assert_eq!(refused.status, StatusCode::BAD_REQUEST, "{refused:?}");
    }
}

#[tokio::test]
async fn a_link_works_once_and_for_an_hour() {
    let clock = Clock::manual(noon());
    let (stack, mail) = with_mail(clock.clone()).await;
    stack.workspace("acme").await;
    let first = sent_token(&stack, &mail, OWNER).await;
    let second = sent_token(&stack, &mail, OWNER).await;
    assert_ne!(first, second);
    // A new request does not end the earlier link.
    assert_eq!(inspect(&stack, &first).await.status, StatusCode::OK);
    let weak = complete(&stack, json!({ "token": first, "password": "password123" })).await;
    assert_eq!(weak.status, StatusCode::BAD_REQUEST, "{weak:?}");
    let body = json!({ "token": first, "password": NEW_PASSWORD });
    let both = tokio::join!(complete(&stack, body.clone()), complete(&stack, body));
    let mut statuses = [both.0.status.as_u16(), both.1.status.as_u16()];
    statuses.sort_unstable();
    assert_eq!(statuses, [204, 404]);
    // The other link ends with it.
    for token in [&first, &second] {
        inspect(&stack, token).await.refused(404, ENDED);
        complete(&stack, json!({ "token": token, "password": NEW_PASSWORD }))
            .await
            .refused(404, ENDED);
    }
    assert_eq!(audited(&stack, "user.password_reset").await, 1);

    let late = sent_token(&stack, &mail, OWNER).await;
    clock.advance(TimeDelta::minutes(61));
    inspect(&stack, &late).await.refused(404, ENDED);
    complete(&stack, json!({ "token": late, "password": NEW_PASSWORD }))
        .await
        .refused(404, ENDED);
    let unknown = PasswordResetToken::generate([9; 32]);
    for token in [unknown.expose(), "affr_", "", &late[1..]] {
        inspect(&stack, token).await.refused(404, ENDED);
    }
    assert_eq!(stack.sign_in(OWNER, NEW_PASSWORD).await.status, StatusCode::OK);
}

#[tokio::test]
async fn a_changed_password_ends_links_that_were_asked_for_before() {
    let (stack, mail) = with_mail(Clock::system()).await;
    let acme = stack.workspace("acme").await;
    let token = sent_token(&stack, &mail, OWNER).await;
    let body = json!({ "currentPassword": PASSWORD, "password": NEW_PASSWORD, "passwordConfirmation": NEW_PASSWORD });
    stack
        .submitted("/api/auth/change-password", Some(&acme.owner.token), body)
        .await;
    inspect(&stack, &token).await.refused(404, ENDED);
    let told = mail.received(&stack, OWNER, "password was changed").await;
    assert!(!told.text().contains("link that was sent"), "{}", told.text());
}

/// The mailbox alone does not open an account that has a second factor.
#[tokio::test]
async fn a_second_factor_is_asked_for_and_stays() {
    let clock = Clock::manual(noon());
    let (stack, mail) = with_mail(clock.clone()).await;
    let acme = stack.workspace("acme").await;
    let owner = Some(acme.owner.token.as_str());
    let factor = "/api/users/me/second-factor";
    let begun = stack.submit(factor, owner, json!({})).await;
    let app = Totp::from_url(begun.body["data"]["uri"].as_str().unwrap()).unwrap();
    let code = || {
        clock.advance(TimeDelta::seconds(30));
        app.generate(u64::try_from(clock.now().timestamp()).unwrap())
            .to_string()
    };
    stack
        .submitted(&format!("{factor}/enable"), owner, json!({ "code": code() }))
        .await;

    let token = sent_token(&stack, &mail, OWNER).await;
    assert_eq!(inspect(&stack, &token).await.body["data"]["second_factor"], true);
    let without = complete(&stack, json!({ "token": token, "password": NEW_PASSWORD })).await;
    assert_eq!(without.status, StatusCode::FORBIDDEN);
    assert_eq!(without.body["error"]["details"]["code"], "SECOND_FACTOR_REQUIRED");
    let wrong = json!({ "token": token, "password": NEW_PASSWORD, "code": "000000" });
    complete(&stack, wrong)
        .await
        .refused(400, "The code is wrong, or was used already");
    assert_eq!(stack.count("password_resets WHERE ended_at IS NULL").await, 1);
    let right = json!({ "token": token, "password": NEW_PASSWORD, "code": code() });
    assert_eq!(complete(&stack, right).await.status, StatusCode::NO_CONTENT);
    let signed_in = stack.sign_in(OWNER, NEW_PASSWORD).await;
    assert_eq!(signed_in.status, StatusCode::FORBIDDEN, "{signed_in:?}");
}

#[tokio::test]
async fn requests_are_limited_by_client_and_by_account_whether_there_is_one_or_not() {
    let mail = MailServer::start().await;
    let mut stack = Stack::without_services(Clock::manual(noon())).await;
    mail.set_in(&mut stack);
    stack.set("SIGN_IN_LIMIT", "12");
    stack.start_services().await;
    for email in ["nobody@acme.example", "owner@acme.example"] {
        let mut answers = Vec::new();
        for _ in 0..4 {
            answers.push(ask(&stack, email).await.status.as_u16());
        }
        assert_eq!(answers, [200, 200, 200, 429]);
    }
}

#[tokio::test]
async fn without_email_links_are_shown_and_passwords_are_not_replaced() {
    let stack = Stack::start().await;
    let acme = stack.workspace("acme").await;
    let options = stack
        .send(stack.request(Method::GET, "/api/auth/sign-in-options"))
        .await;
    assert_eq!(options.body, json!({ "data": { "password_reset": false } }));
    let off = "E-mail is not set up here: whoever runs this installation can replace a password";
    ask(&stack, OWNER).await.refused(404, off);
    let token = PasswordResetToken::generate([9; 32]);
    inspect(&stack, token.expose()).await.refused(404, off);
    complete(
        &stack,
        json!({ "token": token.expose(), "password": NEW_PASSWORD }),
    )
    .await
    .refused(404, off);
    let program = Managed::new(&stack, &acme, "Shop").await;
    let added = program.partner(&stack, "ada@letters.example", "approved").await;
    assert_eq!(added["invitation_emailed"], false);
    assert!(added["invitation_url"].is_string());
    let body = json!({ "token": test_harness::managed::token(&added["invitation_url"]), "name": "Ada", "password": PASSWORD });
    stack.created("/api/auth/invitations/accept", None, body).await;
    assert_eq!(stack.count("emails").await, 0);
}
