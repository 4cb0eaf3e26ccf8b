//! E-mails to users about their accounts; no log and no table shows their secrets.

use chrono::TimeDelta;
use futures::future::join_all;
use reqwest::Method;
use runtime::clock::Clock;
use serde_json::json;
use test_harness::managed::{Managed, audited};
use test_harness::{
    Answer, Json, LoggedServices, MAIL_PASSWORD, MailServer, Manner, PASSWORD, Person, Stack, noon,
    refused_each, rows,
};

const INVITATIONS: &str = "/api/advertiser/invitations";
const OWNER: &str = "owner@acme.example";
const MAX: &str = "max@shop.example";
const ADA: &str = "ada@letters.example";
const GETS_NO_EMAIL: &str = "This address gets no e-mail at present: its mailbox refused one, or it has had too many invitations within an hour";

async fn sign_in_from(stack: &Stack, address: &str, browser: &str) {
    let request = stack
        .request(Method::POST, "/api/auth/local")
        .header("x-forwarded-for", address)
        .header("user-agent", browser);
    let body = json!({ "identifier": OWNER, "password": PASSWORD });
    stack.send(request.json(&body)).await.ok();
}

/// Invites Max as an admin of the person's workspace.
async fn invite(person: &Person) -> Answer {
    person
        .submit(INVITATIONS, json!({ "email": MAX, "role": "admin" }))
        .await
}

/// A program `Shop` of the workspace `acme`, in a stack that sends e-mails.
async fn shop() -> (Stack, MailServer, Managed) {
    let (stack, mail) = Stack::with_mail(Clock::system()).await;
    let acme = stack.workspace("acme").await;
    let program = Managed::new(&stack, &acme, "Shop").await;
    (stack, mail, program)
}

#[tokio::test]
async fn a_member_is_invited_by_mail() {
    let (stack, mail) = Stack::with_mail(Clock::system()).await;
    let made = invite(&stack.workspace("acme").await.owner).await.created();
    assert_eq!(made.data()["emailed"], true);
    let email = mail.received(&stack, MAX, "work in acme").await;
    assert!(email.html().contains(&email.token()));
    assert_eq!(email.header("Auto-Submitted"), "auto-generated");
    let accepted = stack.accept(&email.token(), "Max").await.created();
    // Only the reader of that mailbox had the link.
    assert_eq!(accepted.body["user"]["verified"], true);
    assert_eq!(audited(&stack, "user.address_verified").await, 1);
}

/// Mail programs turn names that look like addresses into links. An invitation must not carry a link that a
/// program's name contains.
#[tokio::test]
async fn a_name_that_looks_like_an_address_is_no_link_in_an_invitation() {
    let (stack, mail) = Stack::with_mail(Clock::system()).await;
    let acme = stack.workspace("acme").await;
    let program = Managed::new(&stack, &acme, "visit https://evil.example now").await;
    let added = program.partner(&stack, ADA, "approved").await;
    assert_eq!(added["invitation_emailed"], true);
    let email = mail.received(&stack, ADA, "").await;
    for part in [email.header("Subject"), email.text(), email.html()] {
        for link in ["://evil", "evil.example"] {
            assert!(!part.contains(link), "{part}");
        }
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
    let (stack, mail, program) = shop().await;
    let added = program.partner(&stack, ADA, "approved").await;
    let again = format!("partners/{}/invitation", added["id"]);
    let answers = [
        invite(&program.owner).await.created().data().clone(),
        program
            .submit(&stack, &again, json!({}))
            .await
            .created()
            .data()
            .clone(),
        added,
    ];
    mail.received(&stack, MAX, "work in acme").await;
    mail.received_after(&stack, ADA, "partner of Shop", 1).await;
    for answer in answers {
        assert_eq!(answer["invitation_url"], json!(null));
        assert!(!answer.to_string().contains("affi_"), "{answer}");
    }
}

/// Otherwise the inviter would wait for a link that never arrives.
#[tokio::test]
async fn nobody_is_invited_whose_address_gets_no_email() {
    const OPEN: &str = "invitations WHERE withdrawn_at IS NULL";
    let (stack, mail, program) = shop().await;
    mail.received(&stack, OWNER, "New sign-in").await;
    mail.set_manner(Manner::Answers("RCPT", "550 5.1.1 no such mailbox"));
    invite(&program.owner).await.created();
    stack.reaches("stopped_addresses", 1).await;
    mail.set_manner(Manner::Takes);
    let before = stack.count(OPEN).await;
    invite(&program.owner).await.refused(409, GETS_NO_EMAIL);
    // The earlier link still works.
    assert_eq!(stack.count(OPEN).await, before);
    // A partner is added without an e-mail: their links work before they have an account.
    let added = program.partner(&stack, MAX, "approved").await;
    added.has(json!({ "invitation_emailed": false, "invitation_expires_at": null }));
    let again = format!("partners/{}/invitation", added["id"]);
    let again = program.submit(&stack, &again, json!({})).await;
    again.refused(409, GETS_NO_EMAIL);
    assert_eq!(stack.count(OPEN).await, before);
}

#[tokio::test]
async fn a_sign_in_from_a_new_place_is_told_once() {
    let (stack, mail) = Stack::with_mail(Clock::system()).await;
    stack.workspace("acme").await;
    // The first sign-in from this place.
    mail.received(&stack, OWNER, "New sign-in").await;
    let told = "emails WHERE kind = 'new_sign_in'";
    sign_in_from(&stack, "192.0.2.7", "Firefox <b>1</b>").await;
    assert_eq!(stack.count(told).await, 2);
    let email = mail.received_after(&stack, OWNER, "New sign-in", 1).await;
    let text = email.text();
    assert!(
        text.contains("Address: 192.0.2.7\nBrowser: Firefox <b>1</b>\n"),
        "{text}"
    );
    assert!(email.html().contains("Firefox &lt;b&gt;1&lt;/b&gt;"));
    sign_in_from(&stack, "192.0.2.7", "Another").await;
    assert_eq!(stack.count(told).await, 2);
    sign_in_from(&stack, "192.0.2.8", "Another").await;
    assert_eq!(stack.count(told).await, 3);
}

#[tokio::test]
async fn an_account_that_an_invitation_makes_is_told_of_no_new_place() {
    let (stack, mail, program) = shop().await;
    let told = "emails WHERE kind = 'new_sign_in'";
    let before = stack.count(told).await;
    program.partner(&stack, ADA, "approved").await;
    let invitation = mail.received(&stack, ADA, "partner of Shop").await;
    stack.accept(&invitation.token(), "Ada").await.created();
    assert_eq!(stack.count(told).await, before);
}

/// Neither strangers nor colleagues can flood a mailbox.
#[tokio::test]
async fn one_address_gets_five_emails_of_a_kind_within_an_hour() {
    let (stack, _mail) = Stack::with_mail(Clock::manual(noon())).await;
    let owner = stack.workspace("acme").await.owner;
    for _ in 0..5 {
        invite(&owner).await.created();
    }
    invite(&owner).await.refused(409, GETS_NO_EMAIL);
    stack.clock.advance(TimeDelta::minutes(61));
    stack.prove(&owner).await;
    invite(&owner).await.created();
}

#[tokio::test]
async fn of_invitations_at_once_no_more_are_sent_than_one_after_the_other() {
    let (stack, _mail) = Stack::with_mail(Clock::system()).await;
    let owner = stack.workspace("acme").await.owner;
    let answers = join_all((0..12).map(|_| invite(&owner))).await;
    let created = answers.iter().filter(|answer| answer.status == 201);
    assert_eq!(created.count(), 5);
    assert_eq!(stack.count("emails WHERE kind = 'member_invitation'").await, 5);
}

/// Otherwise one workspace could keep an address from the invitations of all others, and each would learn
/// what the others send.
#[tokio::test]
async fn a_workspaces_invitations_are_counted_apart_up_to_twenty_an_hour() {
    let (stack, _mail) = Stack::with_mail(Clock::system()).await;
    for name in ["acme", "bolt", "cog", "dash"] {
        let owner = stack.workspace(name).await.owner;
        for _ in 0..5 {
            invite(&owner).await.created();
        }
        invite(&owner).await.refused(409, GETS_NO_EMAIL);
    }
    // A caller that floods a mailbox from many workspaces gets the same refusal.
    let flood = stack.workspace("flood").await;
    invite(&flood.owner).await.refused(409, GETS_NO_EMAIL);
}

/// A caller with the link but without the password may be a stranger: the owner gets an e-mail.
#[tokio::test]
async fn a_second_claim_on_an_address_alarms_its_owner() {
    let (stack, mail) = Stack::with_mail(Clock::system()).await;
    let acme = stack.workspace("acme").await;
    let bolt = stack.workspace("bolt").await;
    let body = json!({ "email": OWNER, "role": "member" });
    bolt.owner.submit(INVITATIONS, body).await.created();
    let link = mail.received(&stack, OWNER, "work in bolt").await.token();
    let body = json!({ "token": link, "name": "Mallory", "password": "kettle ambush violin" });
    let taken = stack.submit("/api/auth/invitations/accept", None, body).await;
    taken.is(400);
    let alarm = mail.received(&stack, OWNER, "tried to use your address").await;
    assert!(alarm.text().contains("invitation to “bolt”"), "{}", alarm.text());
    acme.owner.get("/api/users/me").await.ok();
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
    let body = json!({ "email": OWNER });
    stack.submit("/api/auth/password-reset", None, body).await.ok();
    let held = "emails WHERE kind = 'password_reset' AND reply_code = 450";
    stack.reaches(held, 1).await;
    let rows = rows::text_of_all_rows(&stack).await;
    mail.set_manner(Manner::Takes);
    stack.execute("UPDATE emails SET due_at = now()").await;
    let email = mail.received(&stack, OWNER, "Choose a new password").await;
    let token = email.token();
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
    let (stack, mail, program) = shop().await;
    let logo = "logo_url must be an https: address of a picture, without user and password, of at most 500 characters";
    let refusals = json!({
        logo: [
            { "logo_url": "http://shop.example/logo.png" }, { "logo_url": "javascript:alert(1)" },
            { "logo_url": format!("https://shop.example/{}", "a".repeat(500)) },
        ],
        "logo_url must be a string": [{ "logo_url": 7 }],
        "reply_to_email must be an e-mail address": [
            { "reply_to_email": "nobody" },
            { "reply_to_email": "a@shop.example\r\nBcc: mallory@evil.example" },
        ],
    });
    refused_each(400, refusals, |body| program.put(&stack, "", body)).await;
    let set = "programs WHERE logo_url IS NOT NULL OR reply_to_email IS NOT NULL";
    assert_eq!(stack.count(set).await, 0);
    let wanted =
        json!({ "logo_url": "https://shop.example/logo.png", "reply_to_email": "Partners@shop.example" });
    let changed = program.put(&stack, "", wanted).await;
    assert_eq!(changed.data()["reply_to_email"], "partners@shop.example");
    program.partner(&stack, ADA, "approved").await;
    let invitation = mail.received(&stack, ADA, "partner of Shop").await;
    assert_eq!(invitation.header("Reply-To"), "partners@shop.example");
    let html = invitation.html();
    assert!(
        html.contains("<img src=\"https://shop.example/logo.png\" alt=\"Shop\""),
        "{html}"
    );
    // Other e-mails have the installation's logo and address.
    let sign_in = mail.received(&stack, OWNER, "New sign-in").await;
    assert_eq!(sign_in.header("Reply-To"), "");
    assert!(!sign_in.html().contains("<img"));
}
