//! A link that is e-mailed to an account's address verifies it. No answer reveals other accounts.

use chrono::TimeDelta;
use domain::token::AddressVerificationToken;
use runtime::clock::Clock;
use serde_json::json;
use test_harness::managed::{Managed, audited, token};
use test_harness::{Answer, MailServer, PASSWORD, Stack, noon, rows, statuses};

const ADA: &str = "ada@letters.example";
const SUBJECT: &str = "Confirm your e-mail address";
const ASK: &str = "/api/users/me/address-verification";

const ENDED: &str = "Link not found, or no longer valid";

/// Ada accepts an invitation from before e-mail was turned on; returns her session.
async fn ada(stack: &Stack, mail: Option<&MailServer>) -> String {
    let acme = stack.workspace("acme").await;
    let program = Managed::new(stack, &acme, "Shop").await;
    let added = program.partner(stack, ADA, "approved").await;
    let token = match mail {
        Some(mail) => mail.received(stack, ADA, "partner of Shop").await.token(),
        None => token(&added["invitation_url"]),
    };
    accept_unsent(stack, &token).await
}

/// Accepts an invitation as if its link had not been e-mailed; returns the session.
async fn accept_unsent(stack: &Stack, token: &str) -> String {
    stack.execute("UPDATE invitations SET emailed = false").await;
    let accepted = stack.accept(token, "Somebody").await.created();
    assert_eq!(accepted.body["user"]["verified"], false);
    accepted.session()
}

async fn ask(stack: &Stack, session: &str) -> Answer {
    stack.submit(ASK, Some(session), json!({})).await
}

async fn opened(stack: &Stack, step: &str, token: &str) -> Answer {
    let path = format!("/api/auth/address-verification/{step}");
    stack.submit(&path, None, json!({ "token": token })).await
}

async fn is_verified(stack: &Stack, session: &str) -> bool {
    stack.get("/api/users/me", session).await.body["verified"] == true
}

#[tokio::test]
async fn a_new_account_gets_a_link_that_verifies_its_address_once() {
    let (stack, mail) = Stack::with_mail(Clock::system()).await;
    let session = ada(&stack, Some(&mail)).await;
    let link = mail.received(&stack, ADA, SUBJECT).await.token();
    // Inspecting changes nothing, because mail scanners open links.
    let inspected = opened(&stack, "inspect", &link).await;
    assert_eq!(inspected.data()["email"], ADA);
    assert!(!is_verified(&stack, &session).await);
    let both = tokio::join!(
        opened(&stack, "complete", &link),
        opened(&stack, "complete", &link)
    );
    assert_eq!(statuses([both.0, both.1]), [204, 404]);
    assert!(is_verified(&stack, &session).await);
    opened(&stack, "inspect", &link).await.refused(404, ENDED);
    let again = ask(&stack, &session).await;
    again.refused(409, "This address is verified already");
    assert!(!rows::text_of_all_rows(&stack).await.contains(&link));
}

#[tokio::test]
async fn a_link_is_sent_again_within_limits_and_ends_after_three_days() {
    let (stack, mail) = Stack::with_mail(Clock::manual(noon())).await;
    let session = ada(&stack, Some(&mail)).await;
    let first = mail.received(&stack, ADA, SUBJECT).await.token();
    let mut emailed = Vec::new();
    for _ in 0..5 {
        emailed.push(ask(&stack, &session).await.data()["emailed"] == true);
    }
    // Five within an hour, including the one from the account's creation.
    assert_eq!(emailed, [true, true, true, true, false]);
    let last = mail.received_after(&stack, ADA, SUBJECT, 4).await.token();
    assert_ne!(first, last);
    stack.clock.advance(TimeDelta::days(3));
    for ended in [&first, &last] {
        opened(&stack, "inspect", ended).await.refused(404, ENDED);
        opened(&stack, "complete", ended).await.refused(404, ENDED);
    }
    // The session has ended meanwhile.
    let session = stack.sign_in(ADA, PASSWORD).await.session();
    assert_eq!(ask(&stack, &session).await.data()["emailed"], true);
    let again = mail.received_after(&stack, ADA, SUBJECT, 5).await.token();
    opened(&stack, "complete", &again).await.is(204);
    assert!(is_verified(&stack, &session).await);
}

#[tokio::test]
async fn asking_is_limited_by_account() {
    let (stack, mail) = Stack::with_mail_set(Clock::manual(noon()), &[("SIGN_IN_LIMIT", "12")]).await;
    let session = ada(&stack, Some(&mail)).await;
    for status in [200, 200, 200, 429] {
        ask(&stack, &session).await.is(status);
    }
}

#[tokio::test]
async fn wrong_tokens_are_all_alike_and_verify_nobody() {
    let (stack, mail) = Stack::with_mail(Clock::system()).await;
    let session = ada(&stack, Some(&mail)).await;
    let link = mail.received(&stack, ADA, SUBJECT).await.token();
    let unknown = AddressVerificationToken::generate([9; 32]);
    let invitation = link.replacen("affv_", "affi_", 1);
    for wrong in [unknown.expose(), invitation.as_str(), "affv_", &link[1..]] {
        for step in ["inspect", "complete"] {
            opened(&stack, step, wrong).await.refused(404, ENDED);
        }
    }
    assert!(!is_verified(&stack, &session).await);
    assert_eq!(audited(&stack, "user.address_verified").await, 0);
}

#[tokio::test]
async fn a_member_who_verifies_the_address_is_in_the_audit_log() {
    let (stack, mail) = Stack::with_mail(Clock::system()).await;
    let owner = stack.workspace("acme").await.owner;
    let body = json!({ "email": "max@shop.example", "role": "admin" });
    owner.submit("/api/advertiser/invitations", body).await.created();
    let invitation = mail.received(&stack, "max@shop.example", "work in acme").await;
    accept_unsent(&stack, &invitation.token()).await;
    let link = mail.received(&stack, "max@shop.example", SUBJECT).await.token();
    opened(&stack, "complete", &link).await.is(204);
    assert_eq!(audited(&stack, "user.address_verified").await, 1);
}

#[tokio::test]
async fn without_email_nothing_is_offered() {
    let stack = Stack::start().await;
    let session = ada(&stack, None).await;
    let off = "E-mail is not set up here: whoever runs this installation can verify an address";
    ask(&stack, &session).await.refused(404, off);
    let unknown = AddressVerificationToken::generate([9; 32]);
    opened(&stack, "complete", unknown.expose())
        .await
        .refused(404, off);
    assert_eq!(stack.count("one_time_links").await, 0);
    assert_eq!(stack.count("emails").await, 0);
}
