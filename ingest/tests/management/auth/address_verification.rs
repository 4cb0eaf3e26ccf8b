//! A link that is e-mailed to an account's address verifies it. No answer reveals other accounts.

use chrono::TimeDelta;
use domain::token::AddressVerificationToken;
use reqwest::StatusCode;
use runtime::clock::Clock;
use serde_json::{Value, json};
use test_harness::{
    Answer, MailServer, PASSWORD, Stack,
    managed::{Managed, audited, token},
    noon,
};

const ADA: &str = "ada@letters.example";
const SUBJECT: &str = "Confirm your e-mail address";
const ASK: &str = "/api/users/me/address-verification";
const LINK: &str = "/api/auth/address-verification";
const ENDED: &str = "Link not found, or no longer valid";

async fn with_mail(clock: Clock) -> (Stack, MailServer) {
    let mail = MailServer::start().await;
    let mut stack = Stack::without_services(clock).await;
    mail.set_in(&mut stack);
    stack.start_services().await;
    stack.start_delivery();
    (stack, mail)
}

/// Ada accepts an invitation from before e-mail was turned on; returns her session.
async fn ada(stack: &Stack, mail: Option<&MailServer>) -> String {
    let acme = stack.workspace("acme").await;
    let program = Managed::new(stack, &acme, "Shop").await;
    let added = program.partner(stack, ADA, "approved").await;
    let token = match mail {
        Some(mail) => mail.received(stack, ADA, "partner of Shop").await.token(),
        None => token(&added["invitation_url"]),
    };
    stack.execute("UPDATE invitations SET emailed = false").await;
    let body = json!({ "token": token, "name": "Ada", "password": PASSWORD });
    let accepted = stack.created("/api/auth/invitations/accept", None, body).await;
    assert_eq!(accepted.body["user"]["verified"], false);
    accepted.body["jwt"].as_str().unwrap().to_owned()
}

async fn opened(stack: &Stack, step: &str, token: &str) -> Answer {
    stack
        .submit(&format!("{LINK}/{step}"), None, json!({ "token": token }))
        .await
}

async fn is_verified(stack: &Stack, session: &str) -> Value {
    stack.get("/api/users/me", session).await.body["verified"].clone()
}

#[tokio::test]
async fn a_new_account_gets_a_link_that_verifies_its_address_once() {
    let (stack, mail) = with_mail(Clock::system()).await;
    let session = ada(&stack, Some(&mail)).await;
    let link = mail.received(&stack, ADA, SUBJECT).await.token();
    // Inspecting changes nothing, because mail scanners open links.
    let inspected = opened(&stack, "inspect", &link).await;
    assert_eq!(inspected.body["data"]["email"], ADA);
    assert_eq!(is_verified(&stack, &session).await, false);
    let both = tokio::join!(
        opened(&stack, "complete", &link),
        opened(&stack, "complete", &link)
    );
    let mut statuses = [both.0.status.as_u16(), both.1.status.as_u16()];
    statuses.sort_unstable();
    assert_eq!(statuses, [204, 404]);
    assert_eq!(is_verified(&stack, &session).await, true);
    opened(&stack, "inspect", &link).await.refused(404, ENDED);
    stack
        .submit(ASK, Some(&session), json!({}))
        .await
        .refused(409, "This address is verified already");
    let stored: String = stack
        .value("SELECT string_agg(e::text, ' ') || string_agg(v::text, ' ') FROM emails e, address_verifications v")
        .await;
    assert!(!stored.contains(&link), "{stored}");
}

#[tokio::test]
async fn a_link_is_sent_again_within_limits_and_ends_after_three_days() {
    let clock = Clock::manual(noon());
    let (stack, mail) = with_mail(clock.clone()).await;
    let session = ada(&stack, Some(&mail)).await;
    let first = mail.received(&stack, ADA, SUBJECT).await.token();
    let mut emailed = Vec::new();
    for _ in 0..5 {
        let asked = stack.submitted(ASK, Some(&session), json!({})).await;
        emailed.push(asked.body["data"]["emailed"].as_bool().unwrap());
    }
    // Five within an hour, including the one from the account's creation.
    assert_eq!(emailed, [true, true, true, true, false]);
    let last = mail.received_after(&stack, ADA, SUBJECT, 4).await.token();
    assert_ne!(first, last);
    clock.advance(TimeDelta::days(3));
    for ended in [&first, &last] {
        opened(&stack, "inspect", ended).await.refused(404, ENDED);
        opened(&stack, "complete", ended).await.refused(404, ENDED);
    }
    // The session has ended meanwhile.
    let signed_in = stack.sign_in(ADA, PASSWORD).await;
    let session = signed_in.body["jwt"].as_str().unwrap().to_owned();
    let asked = stack.submitted(ASK, Some(&session), json!({})).await;
    assert_eq!(asked.body["data"]["emailed"], true);
    let again = mail.received_after(&stack, ADA, SUBJECT, 5).await.token();
    assert_eq!(
        opened(&stack, "complete", &again).await.status,
        StatusCode::NO_CONTENT
    );
    assert_eq!(is_verified(&stack, &session).await, true);
}

#[tokio::test]
async fn asking_is_limited_by_account() {
    let mail = MailServer::start().await;
    let mut stack = Stack::without_services(Clock::manual(noon())).await;
    mail.set_in(&mut stack);
    stack.set("SIGN_IN_LIMIT", "12");
    stack.start_services().await;
    stack.start_delivery();
    let session = ada(&stack, Some(&mail)).await;
    let mut answers = Vec::new();
    for _ in 0..4 {
        answers.push(stack.submit(ASK, Some(&session), json!({})).await.status.as_u16());
    }
    assert_eq!(answers, [200, 200, 200, 429]);
}

#[tokio::test]
async fn wrong_tokens_are_all_alike_and_verify_nobody() {
    let (stack, mail) = with_mail(Clock::system()).await;
    let session = ada(&stack, Some(&mail)).await;
    let link = mail.received(&stack, ADA, SUBJECT).await.token();
    let unknown = AddressVerificationToken::generate([9; 32]);
    let invitation = link.replacen("affv_", "affi_", 1);
    for wrong in [unknown.expose(), invitation.as_str(), "affv_", &link[1..]] {
        for step in ["inspect", "complete"] {
            opened(&stack, step, wrong).await.refused(404, ENDED);
        }
    }
    assert_eq!(is_verified(&stack, &session).await, false);
    assert_eq!(audited(&stack, "user.address_verified").await, 0);
    let nobody = stack.submit(ASK, None, json!({})).await;
    assert_eq!(nobody.status, StatusCode::UNAUTHORIZED);
}

#[tokio::test]
async fn a_member_who_verifies_the_address_is_in_the_audit_log() {
    let (stack, mail) = with_mail(Clock::system()).await;
    let acme = stack.workspace("acme").await;
    let body = json!({ "email": "max@shop.example", "role": "admin" });
    stack
        .created("/api/advertiser/invitations", Some(&acme.owner.token), body)
        .await;
    let invitation = mail.received(&stack, "max@shop.example", "work in acme").await;
    stack.execute("UPDATE invitations SET emailed = false").await;
    let body = json!({ "token": invitation.token(), "name": "Max", "password": PASSWORD });
    stack.created("/api/auth/invitations/accept", None, body).await;
    let link = mail.received(&stack, "max@shop.example", SUBJECT).await.token();
    assert_eq!(
        opened(&stack, "complete", &link).await.status,
        StatusCode::NO_CONTENT
    );
    assert_eq!(audited(&stack, "user.address_verified").await, 1);
}

#[tokio::test]
async fn without_email_nothing_is_offered() {
    let stack = Stack::start().await;
    let session = ada(&stack, None).await;
    let off = "E-mail is not set up here: whoever runs this installation can verify an address";
    stack
        .submit(ASK, Some(&session), json!({}))
        .await
        .refused(404, off);
    let unknown = AddressVerificationToken::generate([9; 32]);
    opened(&stack, "complete", unknown.expose())
        .await
        .refused(404, off);
    assert_eq!(stack.count("address_verifications").await, 0);
    assert_eq!(stack.count("emails").await, 0);
}
