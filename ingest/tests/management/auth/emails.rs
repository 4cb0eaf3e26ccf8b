//! What people are told of their accounts by e-mail, and what no log and no table shows of it.

use chrono::TimeDelta;
use reqwest::{Method, StatusCode};
use runtime::clock::Clock;
use serde_json::json;
use test_harness::{
    LoggedServices, MAIL_PASSWORD, MailServer, Manner, PASSWORD, Stack,
    managed::{Managed, token},
    noon,
};

const INVITATIONS: &str = "/api/advertiser/invitations";
const OWNER: &str = "owner@acme.example";

async fn with_mail() -> (Stack, MailServer) {
    let mail = MailServer::start().await;
    let mut stack = Stack::without_services(Clock::system()).await;
    mail.set_in(&mut stack);
    stack.start_services().await;
    stack.start_delivery();
    (stack, mail)
}

async fn sign_in_from(stack: &Stack, address: &str, browser: &str) {
    let body = json!({ "identifier": OWNER, "password": PASSWORD });
    let request = stack
        .request(Method::POST, "/api/auth/local")
        .header("x-forwarded-for", address)
        .header("user-agent", browser)
        .json(&body);
    assert_eq!(stack.send(request).await.status, StatusCode::OK);
}

#[tokio::test]
async fn a_member_is_invited_by_mail() {
    let (stack, mail) = with_mail().await;
    let acme = stack.workspace("acme").await;
    let body = json!({ "email": "max@shop.example", "role": "admin" });
    let made = stack.created(INVITATIONS, Some(&acme.owner.token), body).await;
    assert_eq!(made.body["data"]["emailed"], true);
    let email = mail.received(&stack, "max@shop.example", "work in acme").await;
    assert_eq!(email.token(), token(&made.body["data"]["invitation_url"]));
    assert!(email.html().contains(&email.token()));
    assert_eq!(email.header("Auto-Submitted"), "auto-generated");
}

#[tokio::test]
async fn a_sign_in_from_a_new_place_is_told_once() {
    let (stack, mail) = with_mail().await;
    stack.workspace("acme").await;
    // Its first.
    mail.received(&stack, OWNER, "New sign-in").await;
    let told = "emails WHERE kind = 'new_sign_in'";
    sign_in_from(&stack, "192.0.2.7", "Firefox <b>1</b>").await;
    assert_eq!(stack.count(told).await, 2);
    let email = mail.received_after(&stack, OWNER, "New sign-in", 1).await;
    assert!(
        email
            .text()
            .contains("Address: 192.0.2.7\nBrowser: Firefox <b>1</b>\n")
    );
    assert!(email.html().contains("Firefox &lt;b&gt;1&lt;/b&gt;"));
    sign_in_from(&stack, "192.0.2.7", "Another").await;
    assert_eq!(stack.count(told).await, 2);
    sign_in_from(&stack, "192.0.2.8", "Another").await;
    assert_eq!(stack.count(told).await, 3);
}

#[tokio::test]
async fn an_account_that_an_invitation_makes_is_told_of_no_new_place() {
    let (stack, _mail) = with_mail().await;
    let acme = stack.workspace("acme").await;
    let program = Managed::new(&stack, &acme, "Shop").await;
    let told = "emails WHERE kind = 'new_sign_in'";
    let before = stack.count(told).await;
    let added = program.partner(&stack, "ada@letters.example", "approved").await;
    let body = json!({ "token": token(&added["invitation_url"]), "name": "Ada", "password": PASSWORD });
    stack.created("/api/auth/invitations/accept", None, body).await;
    assert_eq!(stack.count(told).await, before);
}

/// Strangers and eager colleagues alike fill nobody's mailbox.
#[tokio::test]
async fn one_address_gets_five_emails_of_a_kind_within_an_hour() {
    let clock = Clock::manual(noon());
    let mail = MailServer::start().await;
    let mut stack = Stack::without_services(clock.clone()).await;
    mail.set_in(&mut stack);
    stack.start_services().await;
    stack.start_delivery();
    let acme = stack.workspace("acme").await;
    let mut emailed = Vec::new();
    let invite = async || {
        let body = json!({ "email": "max@shop.example", "role": "admin" });
        let made = stack.created(INVITATIONS, Some(&acme.owner.token), body).await;
        made.body["data"]["emailed"].as_bool().unwrap()
    };
    for _ in 0..6 {
        emailed.push(invite().await);
    }
    assert_eq!(emailed, [true, true, true, true, true, false]);
    clock.advance(TimeDelta::minutes(61));
    stack.prove(&acme.owner).await;
    assert!(invite().await);
}

/// Whoever has the link and not the password may be somebody else: the owner is told.
#[tokio::test]
async fn a_second_claim_on_an_address_alarms_its_owner() {
    let (stack, mail) = with_mail().await;
    let acme = stack.workspace("acme").await;
    let bolt = stack.workspace("bolt").await;
    let body = json!({ "email": OWNER, "role": "member" });
    let made = stack.created(INVITATIONS, Some(&bolt.owner.token), body).await;
    let link = token(&made.body["data"]["invitation_url"]);
    let body = json!({ "token": link, "name": "Mallory", "password": "kettle ambush violin" });
    let refused = stack.submit("/api/auth/invitations/accept", None, body).await;
    assert_eq!(refused.status, StatusCode::BAD_REQUEST, "{refused:?}");
    let alarm = mail.received(&stack, OWNER, "tried to use your address").await;
    assert!(alarm.text().contains("invitation to “bolt”"), "{}", alarm.text());
    assert_eq!(
        stack.get("/api/users/me", &acme.owner.token).await.status,
        StatusCode::OK
    );
}

/// Logs at `trace` and rows that wait show neither a link's token nor the mail server's password.
#[tokio::test]
async fn neither_logs_nor_rows_show_what_a_link_holds() {
    let mail = MailServer::start().await;
    let mut stack = Stack::without_services(Clock::system()).await;
    mail.set_in(&mut stack);
    let services = LoggedServices::start(&mut stack).await;
    stack.workspace("acme").await;
    mail.set_manner(Manner::Answers("RCPT", "450 4.2.1 <owner@acme.example> is busy"));
    stack
        .submitted("/api/auth/password-reset", None, json!({ "email": OWNER }))
        .await;
    stack
        .reaches("emails WHERE kind = 'password_reset' AND reply_code = 450", 1)
        .await;
    let rows: String = stack
        .value("SELECT string_agg(e::text, ' ') || string_agg(r::text, ' ') FROM emails e, password_resets r")
        .await;
    mail.set_manner(Manner::Takes);
    stack.execute("UPDATE emails SET due_at = now()").await;
    let token = mail
        .received(&stack, OWNER, "Choose a new password")
        .await
        .token();
    stack.reaches("emails WHERE state = 'waiting'", 0).await;
    let logged = services.end();
    assert!(logged.contains("e-mail was not sent"), "{logged}");
    assert!(!rows.contains(&token), "{rows}");
    for secret in [token.as_str(), MAIL_PASSWORD, "of%20the%20mail%20server", OWNER] {
        assert!(!logged.contains(secret), "{secret} in the logs");
    }
}

/// E-mails to partners bear the program's logo, and answers go to the program.
#[tokio::test]
async fn a_programs_own_logo_and_address_are_checked_where_they_are_set() {
    let (stack, mail) = with_mail().await;
    let acme = stack.workspace("acme").await;
    let program = Managed::new(&stack, &acme, "Shop").await;
    let path = format!("/api/advertiser/affiliate-programs/{}", program.id);
    let logo = "logo_url must be an https: address of a picture, without user and password, of at most 500 characters";
    for (refused, why) in [
        (json!({ "logo_url": "http://shop.example/logo.png" }), logo),
        (json!({ "logo_url": "javascript:alert(1)" }), logo),
        (
            json!({ "logo_url": format!("https://shop.example/{}", "a".repeat(500)) }),
            logo,
        ),
        (json!({ "logo_url": 7 }), "logo_url must be a string"),
        (
            json!({ "reply_to_email": "nobody" }),
            "reply_to_email must be an e-mail address",
        ),
        (
            json!({ "reply_to_email": "a@shop.example\r\nBcc: mallory@evil.example" }),
            "reply_to_email must be an e-mail address",
        ),
    ] {
        let answer = stack.put(&path, &program.owner.token, refused).await;
        answer.refused(400, why);
    }
    assert_eq!(
        stack
            .count("programs WHERE logo_url IS NOT NULL OR reply_to_email IS NOT NULL")
            .await,
        0
    );
    let wanted =
        json!({ "logo_url": "https://shop.example/logo.png", "reply_to_email": "Partners@shop.example" });
    let changed = stack.put(&path, &program.owner.token, wanted).await;
    assert_eq!(changed.status, StatusCode::OK, "{changed:?}");
    assert_eq!(changed.body["data"]["reply_to_email"], "partners@shop.example");
    program.partner(&stack, "ada@letters.example", "approved").await;
    let invitation = mail
        .received(&stack, "ada@letters.example", "partner of Shop")
        .await;
    assert_eq!(invitation.header("Reply-To"), "partners@shop.example");
    assert!(
        invitation
            .html()
            .contains("<img src=\"https://shop.example/logo.png\" alt=\"Shop\""),
        "{}",
        invitation.html()
    );
    // Others are the installation's own.
    let sign_in = mail.received(&stack, OWNER, "New sign-in").await;
    assert_eq!(sign_in.header("Reply-To"), "");
    assert!(!sign_in.html().contains("<img"));
}
