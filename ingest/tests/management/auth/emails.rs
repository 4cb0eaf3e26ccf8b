//! E-mails to users about their accounts; no log and no table shows their secrets.

use chrono::TimeDelta;
use futures::future::join_all;
use reqwest::{Method, StatusCode};
use runtime::clock::Clock;
use serde_json::json;
use test_harness::{
    LoggedServices, MAIL_PASSWORD, MailServer, Manner, PASSWORD, Person, Stack,
    managed::{Managed, audited},
    noon,
};

const INVITATIONS: &str = "/api/advertiser/invitations";
const OWNER: &str = "owner@acme.example";
const GETS_NO_EMAIL: &str = "This address gets no e-mail at present: its mailbox refused one, or it has had too many invitations within an hour";

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
    assert!(email.html().contains(&email.token()));
    assert_eq!(email.header("Auto-Submitted"), "auto-generated");
    let body = json!({ "token": email.token(), "name": "Max", "password": PASSWORD });
    let accepted = stack.created("/api/auth/invitations/accept", None, body).await;
    // Only the reader of that mailbox had the link.
    assert_eq!(accepted.body["user"]["verified"], true);
    assert_eq!(audited(&stack, "user.address_verified").await, 1);
}

/// Mail programs turn names that look like addresses into links. An invitation must not carry a link that a
/// program's name contains.
#[tokio::test]
async fn a_name_that_looks_like_an_address_is_no_link_in_an_invitation() {
    let (stack, mail) = with_mail().await;
    let acme = stack.workspace("acme").await;
    let program = Managed::new(&stack, &acme, "visit https://evil.example now").await;
    let added = program.partner(&stack, "ada@letters.example", "approved").await;
    assert_eq!(added["invitation_emailed"], true);
    let email = mail.received(&stack, "ada@letters.example", "").await;
    for part in [email.header("Subject"), email.text(), email.html()] {
        assert!(
            !part.contains("://evil") && !part.contains("evil.example"),
            "{part}"
        );
    }
    let spaced = email.text().replace('\u{202f}', "");
    assert!(
        spaced.contains("partner of “visit https://evil.example now”"),
        "{spaced}"
    );
}

/// A caller with the link could try it, and learn from the answer whether the address has an account.
#[tokio::test]
async fn the_link_of_an_emailed_invitation_is_shown_to_nobody_else() {
    let (stack, mail) = with_mail().await;
    let acme = stack.workspace("acme").await;
    let program = Managed::new(&stack, &acme, "Shop").await;
    let owner = &acme.owner.token;
    let member = json!({ "email": "max@shop.example", "role": "admin" });
    let added = program.partner(&stack, "ada@letters.example", "approved").await;
    let again = program.path(&format!("partners/{}/invitation", added["id"]));
    let answers = [
        stack.created(INVITATIONS, Some(owner), member).await.body,
        json!({ "data": added }),
        stack.created(&again, Some(owner), json!({})).await.body,
    ];
    mail.received(&stack, "max@shop.example", "work in acme").await;
    mail.received_after(&stack, "ada@letters.example", "partner of Shop", 1)
        .await;
    for answer in answers {
        assert_eq!(answer["data"]["invitation_url"], json!(null));
        assert!(!answer.to_string().contains("affi_"), "{answer}");
    }
}

/// Otherwise the inviter would wait for a link that never arrives.
#[tokio::test]
async fn nobody_is_invited_whose_address_gets_no_email() {
    let (stack, mail) = with_mail().await;
    let acme = stack.workspace("acme").await;
    let program = Managed::new(&stack, &acme, "Shop").await;
    let owner = &acme.owner.token;
    mail.received(&stack, OWNER, "New sign-in").await;
    mail.set_manner(Manner::Answers("RCPT", "550 5.1.1 no such mailbox"));
    let member = json!({ "email": "max@shop.example", "role": "admin" });
    stack.created(INVITATIONS, Some(owner), member.clone()).await;
    stack.reaches("stopped_addresses", 1).await;
    mail.set_manner(Manner::Takes);
    let before = stack.count("invitations WHERE withdrawn_at IS NULL").await;
    stack
        .submit(INVITATIONS, Some(owner), member)
        .await
        .refused(409, GETS_NO_EMAIL);
    // The earlier link still works.
    assert_eq!(
        stack.count("invitations WHERE withdrawn_at IS NULL").await,
        before
    );
    // A partner is added without an e-mail: their links work before they have an account.
    let added = program.partner(&stack, "max@shop.example", "approved").await;
    assert_eq!(
        (&added["invitation_emailed"], &added["invitation_expires_at"]),
        (&json!(false), &json!(null))
    );
    let again = program.path(&format!("partners/{}/invitation", added["id"]));
    stack
        .submit(&again, Some(owner), json!({}))
        .await
        .refused(409, GETS_NO_EMAIL);
    assert_eq!(
        stack.count("invitations WHERE withdrawn_at IS NULL").await,
        before
    );
}

#[tokio::test]
async fn a_sign_in_from_a_new_place_is_told_once() {
    let (stack, mail) = with_mail().await;
    stack.workspace("acme").await;
    // The first sign-in from this place.
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
    let (stack, mail) = with_mail().await;
    let acme = stack.workspace("acme").await;
    let program = Managed::new(&stack, &acme, "Shop").await;
    let told = "emails WHERE kind = 'new_sign_in'";
    let before = stack.count(told).await;
    program.partner(&stack, "ada@letters.example", "approved").await;
    let invitation = mail
        .received(&stack, "ada@letters.example", "partner of Shop")
        .await;
    let body = json!({ "token": invitation.token(), "name": "Ada", "password": PASSWORD });
    stack.created("/api/auth/invitations/accept", None, body).await;
    assert_eq!(stack.count(told).await, before);
}

/// Neither strangers nor colleagues can flood a mailbox.
#[tokio::test]
async fn one_address_gets_five_emails_of_a_kind_within_an_hour() {
    let clock = Clock::manual(noon());
    let mail = MailServer::start().await;
    let mut stack = Stack::without_services(clock.clone()).await;
    mail.set_in(&mut stack);
    stack.start_services().await;
    stack.start_delivery();
    let acme = stack.workspace("acme").await;
    let invite = async || {
        let body = json!({ "email": "max@shop.example", "role": "admin" });
        stack.submit(INVITATIONS, Some(&acme.owner.token), body).await
    };
    for _ in 0..5 {
        assert_eq!(invite().await.status, StatusCode::CREATED);
    }
    invite().await.refused(409, GETS_NO_EMAIL);
    clock.advance(TimeDelta::minutes(61));
    stack.prove(&acme.owner).await;
    assert_eq!(invite().await.status, StatusCode::CREATED);
}

#[tokio::test]
async fn of_invitations_at_once_no_more_are_sent_than_one_after_the_other() {
    let (stack, _mail) = with_mail().await;
    let owner = stack.workspace("acme").await.owner;
    let body = json!({ "email": "max@shop.example", "role": "admin" });
    let at_once = (0..12).map(|_| stack.submit(INVITATIONS, Some(&owner.token), body.clone()));
    let answers = join_all(at_once).await;
    let created = answers
        .iter()
        .filter(|answer| answer.status == StatusCode::CREATED);
    assert_eq!(created.count(), 5);
    assert_eq!(stack.count("emails WHERE kind = 'member_invitation'").await, 5);
}

/// Otherwise one workspace could keep an address from the invitations of all others, and each would learn
/// what the others send.
#[tokio::test]
async fn a_workspaces_invitations_are_counted_apart_up_to_twenty_an_hour() {
    let (stack, _mail) = with_mail().await;
    let invite = async |owner: &Person| {
        let body = json!({ "email": "max@shop.example", "role": "admin" });
        stack.submit(INVITATIONS, Some(&owner.token), body).await
    };
    for name in ["acme", "bolt", "cog", "dash"] {
        let owner = stack.workspace(name).await.owner;
        for _ in 0..5 {
            assert_eq!(invite(&owner).await.status, StatusCode::CREATED, "{name}");
        }
        invite(&owner).await.refused(409, GETS_NO_EMAIL);
    }
    // A caller that floods a mailbox from many workspaces gets the same refusal.
    let owner = stack.workspace("flood").await.owner;
    invite(&owner).await.refused(409, GETS_NO_EMAIL);
}

/// A caller with the link but without the password may be a stranger: the owner gets an e-mail.
#[tokio::test]
async fn a_second_claim_on_an_address_alarms_its_owner() {
    let (stack, mail) = with_mail().await;
    let acme = stack.workspace("acme").await;
    let bolt = stack.workspace("bolt").await;
    let body = json!({ "email": OWNER, "role": "member" });
    stack.created(INVITATIONS, Some(&bolt.owner.token), body).await;
    let link = mail.received(&stack, OWNER, "work in bolt").await.token();
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

/// Neither logs at `trace` nor waiting rows contain a link's token or the mail server's password.
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

/// E-mails to partners show the program's logo, and replies go to the program.
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
    // Other e-mails have the installation's logo and address.
    let sign_in = mail.received(&stack, OWNER, "New sign-in").await;
    assert_eq!(sign_in.header("Reply-To"), "");
    assert!(!sign_in.html().contains("<img"));
}
