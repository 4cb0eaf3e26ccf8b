//! One-time links into a workspace and to partners' accounts: accepted once, withdrawn, expired.

use chrono::TimeDelta;
use domain::people::account::UserKind;
use domain::people::permission::Role;
use domain::token::InvitationToken;
use reqwest::StatusCode;
use runtime::clock::Clock;
use serde_json::{Value, json};
use test_harness::{
    Answer, PASSWORD, Person, Stack, ctl,
    managed::{Managed, PROGRAMS, audited, token},
    noon,
};

const INVITATIONS: &str = "/api/advertiser/invitations";
const ENDED: &str = "Invitation not found, or no longer valid";

async fn invite(stack: &Stack, person: &Person, body: Value) -> Answer {
    stack.submit(INVITATIONS, Some(&person.token), body).await
}

/// Invites into the only workspace that the person runs; returns the token.
pub async fn invited(stack: &Stack, person: &Person, email: &str, role: &str) -> String {
    let answer = invite(stack, person, json!({ "email": email, "role": role })).await;
    assert_eq!(answer.status, StatusCode::CREATED, "{answer:?}");
    token(&answer.body["data"]["invitation_url"])
}

async fn inspect(stack: &Stack, token: &str) -> Answer {
    let body = json!({ "token": token });
    stack.submit("/api/auth/invitations/inspect", None, body).await
}

async fn accept(stack: &Stack, token: &str, name: &str, password: &str) -> Answer {
    let body = json!({ "token": token, "name": name, "password": password });
    stack.submit("/api/auth/invitations/accept", None, body).await
}

#[tokio::test]
async fn a_member_comes_in_once_with_what_they_were_given() {
    let stack = Stack::start().await;
    let acme = stack.workspace("acme").await;
    let program = Managed::new(&stack, &acme, "Given").await;
    let hidden = Managed::new(&stack, &acme, "Hidden").await;
    let body = json!({ "email": "Max@shop.example", "role": "member",
                       "permissions": { program.id.to_string(): ["program:list", "program:read"] } });
    let answer = invite(&stack, &acme.owner, body).await;
    assert_eq!(answer.status, StatusCode::CREATED, "{answer:?}");
    let data = &answer.body["data"];
    assert_eq!(
        (&data["status"], &data["role"]),
        (&json!("pending"), &json!("member"))
    );
    assert_eq!(
        data["permissions"],
        json!({ program.id.to_string(): ["program:list", "program:read"] })
    );
    let token = token(&data["invitation_url"]);
    let inspected = inspect(&stack, &token).await;
    assert_eq!(
        inspected.body["data"],
        json!({ "kind": "advertiser", "name": "acme", "email": "max@shop.example", "expires_at": data["expires_at"] })
    );
    let accepted = accept(&stack, &token, "Max", PASSWORD).await;
    assert_eq!(accepted.status, StatusCode::CREATED, "{accepted:?}");
    assert_eq!(accepted.body["user"]["kind"], "advertiser");
    assert_eq!(accepted.body["user"]["email"], "max@shop.example");
    assert!(accepted.header("set-cookie").starts_with("__Host-session="));
    let jwt = accepted.body["jwt"].as_str().unwrap();
    let me = stack.get("/api/users/me", jwt).await;
    assert_eq!(me.body["workspaces"][0]["role"], "member");
    let list = stack.get(PROGRAMS, jwt).await;
    assert_eq!(list.body["meta"]["pagination"]["total"], 1);
    assert_eq!(list.body["data"][0]["name"], "Given");
    let other = stack.get(&format!("{PROGRAMS}/{}", hidden.id), jwt).await;
    assert_eq!(other.status, StatusCode::FORBIDDEN);
    assert_eq!(
        stack.sign_in("max@shop.example", PASSWORD).await.status,
        StatusCode::OK
    );

    accept(&stack, &token, "Max", PASSWORD).await.refused(404, ENDED);
    inspect(&stack, &token).await.refused(404, ENDED);
    let again = invite(
        &stack,
        &acme.owner,
        json!({ "email": "max@SHOP.example", "role": "admin" }),
    )
    .await;
    again.refused(409, "They work in this workspace already");
    assert_eq!(audited(&stack, "member.invited").await, 1);
    assert_eq!(audited(&stack, "invitation.accepted").await, 1);
    let stored: String = stack
        .value("SELECT string_agg(i::text, ' ') || string_agg(a::text, ' ') FROM invitations i, audit_log a")
        .await;
    assert!(!stored.contains(&token) && !stored.contains(PASSWORD), "{stored}");
}

/// The inviter has seen the link, so its use does not prove who owns the address.
#[tokio::test]
async fn an_account_made_by_an_invitation_is_unverified_until_an_operator_says_so() {
    let stack = Stack::start().await;
    let acme = stack.workspace("acme").await;
    let token = invited(&stack, &acme.owner, "max@shop.example", "member").await;
    let accepted = accept(&stack, &token, "Max", PASSWORD).await;
    assert_eq!(accepted.body["user"]["verified"], false);
    let verified = async || {
        let members = stack.get("/api/advertiser/members", &acme.owner.token).await.body;
        let members = members["data"].as_array().unwrap().clone();
        members
            .iter()
            .map(|it| it["verified"] == true)
            .collect::<Vec<_>>()
    };
    assert_eq!(verified().await, [true, false]);
    let command = ["user", "verify", "--email", "max@shop.example"];
    // The repeated command adds no second entry.
    assert!(ctl(&stack, &command).await.ok && ctl(&stack, &command).await.ok);
    assert_eq!(verified().await, [true, true]);
    assert_eq!(audited(&stack, "user.verified").await, 1);
}

#[tokio::test]
async fn invitations_are_searched_by_address_and_sorted() {
    let clock = Clock::manual("2026-11-21T12:00:00Z".parse().unwrap());
    let stack = Stack::start_with(clock.clone()).await;
    let acme = stack.workspace("acme").await;
    let rival = stack.workspace("rival").await;
    for email in ["max@shop.example", "Ann@shop.example", "zoe@letters.example"] {
        invited(&stack, &acme.owner, email, "member").await;
        clock.advance(TimeDelta::minutes(1));
    }
    invited(&stack, &rival.owner, "eve@shop.example", "member").await;
    for (query, expected) in [
        ("", &["zoe", "ann", "max"][..]),
        ("?search=SHOP", &["ann", "max"]),
        ("?search=shop&sort=expires_at&order=asc", &["max", "ann"]),
        ("?search=eve", &[]),
        ("?sort=email&order=asc", &["ann", "max", "zoe"]),
        ("?sort=email&pageSize=2", &["zoe", "max"]),
        ("?sort=expires_at", &["zoe", "ann", "max"]),
    ] {
        let path = format!("{INVITATIONS}{query}");
        let list = stack.get(&path, &acme.owner.token).await.body;
        let emails = list["data"].as_array().unwrap().iter();
        let names: Vec<_> = emails
            .map(|one| one["email"].as_str().unwrap().split_once('@').unwrap().0)
            .collect();
        assert_eq!(names, expected, "{query}");
    }
    let path = format!("{INVITATIONS}?sort=role");
    let refusal = stack.get(&path, &acme.owner.token).await;
    refusal.refused(400, "sort must be one of email, expires_at");
}

#[tokio::test]
async fn owners_invite_anybody_admins_no_owners_and_others_nobody() {
    let stack = Stack::start().await;
    let acme = stack.workspace("acme").await;
    let rival = stack.workspace("rival").await;
    let admin = stack
        .member(acme.workspace_id, "admin@acme.example", Role::Admin)
        .await;
    let member = stack
        .member(acme.workspace_id, "member@acme.example", Role::Member)
        .await;
    let ada = stack.user(UserKind::Partner, "ada@letters.example").await;
    let ada = stack.signed_in(ada, "ada@letters.example").await;
    let body = |role: &str| json!({ "email": "new@shop.example", "role": role });
    for (person, role, status) in [
        (&acme.owner, "owner", 201),
        (&admin, "owner", 403),
        (&admin, "admin", 201),
        (&member, "member", 403),
        (&ada, "member", 403),
    ] {
        let answer = invite(&stack, person, body(role)).await;
        assert_eq!(answer.status.as_u16(), status, "{role}: {answer:?}");
    }
    // Invitations into another user's workspace, and withdrawals there.
    let named =
        json!({ "email": "new@shop.example", "role": "owner", "workspace_id": acme.workspace_id.get() });
    assert_eq!(
        invite(&stack, &rival.owner, named).await.status,
        StatusCode::FORBIDDEN
    );
    let theirs = invite(&stack, &rival.owner, body("admin")).await;
    let one = format!("{INVITATIONS}/{}", theirs.body["data"]["id"]);
    assert_eq!(
        stack.delete(&one, &acme.owner.token).await.status,
        StatusCode::FORBIDDEN
    );
    let list = stack
        .get(
            &format!("{INVITATIONS}?workspace_id={}", rival.workspace_id),
            &acme.owner.token,
        )
        .await;
    assert_eq!(list.status, StatusCode::FORBIDDEN);
}

#[tokio::test]
async fn an_invitation_says_what_is_wrong_with_it() {
    let stack = Stack::start().await;
    let acme = stack.workspace("acme").await;
    let rival = stack.workspace("rival").await;
    let theirs = Managed::new(&stack, &rival, "Theirs").await;
    let ours = Managed::new(&stack, &acme, "Ours").await;
    let with =
        |permissions: Value| json!({ "email": "a@b.example", "role": "member", "permissions": permissions });
    let form = "permissions must map ids of this workspace's programs to lists of permissions, such as \
                {\"1\": [\"tracking:read\"]}";
    for (body, message) in [
        (json!({ "role": "member" }), "email is required"),
        (
            json!({ "email": "a@b.example" }),
            "role must be one of owner, admin, member",
        ),
        (
            json!({ "email": "a@b.example", "role": "king" }),
            "role must be one of owner, admin, member",
        ),
        (with(json!([])), form),
        (with(json!({ "one": [] })), form),
        (with(json!({ "1": "program:read" })), form),
        (with(json!({ "1": [1] })), form),
        (with(json!({ theirs.id.to_string(): ["program:read"] })), form),
        (with(json!({ "999999": ["program:read"] })), form),
        (
            with(json!({ ours.id.to_string(): ["program:create"] })),
            "permissions names no permission: program:create",
        ),
        (
            json!({ "email": "a@b.example", "role": "admin", "permissions": { "1": ["program:read"] } }),
            "permissions must be null: owners and admins may do everything",
        ),
        (
            json!({ "email": "a@b.example", "role": "admin", "workspace_id": "2" }),
            "workspace_id must be an integer",
        ),
    ] {
        invite(&stack, &acme.owner, body).await.refused(400, message);
    }
    let body = json!({ "token": 5 });
    let answer = stack.submit("/api/auth/invitations/inspect", None, body).await;
    answer.refused(400, "token is required");
    let token = invited(&stack, &acme.owner, "a@b.example", "admin").await;
    for (name, password, message) in [
        ("", PASSWORD, "name is required"),
        ("Max", "short", "password must have 10 to 128 characters"),
        (
            "Max",
            "qwertyuiop12",
            "password is too easy to guess: take several words that have nothing to do with each other",
        ),
    ] {
        accept(&stack, &token, name, password).await.refused(400, message);
    }
    let bare = stack
        .submit(
            "/api/auth/invitations/accept",
            None,
            json!({ "token": token, "name": "Max" }),
        )
        .await;
    bare.refused(400, "password is required");
    assert_eq!(
        accept(&stack, &token, "Max", PASSWORD).await.status,
        StatusCode::CREATED
    );
}

#[tokio::test]
async fn what_was_withdrawn_or_replaced_or_is_over_opens_nothing() {
    let clock = Clock::manual(noon());
    let stack = Stack::start_with(clock.clone()).await;
    let acme = stack.workspace("acme").await;
    let answer = invite(
        &stack,
        &acme.owner,
        json!({ "email": "a@b.example", "role": "admin" }),
    )
    .await;
    let withdrawn = token(&answer.body["data"]["invitation_url"]);
    let one = format!("{INVITATIONS}/{}", answer.body["data"]["id"]);
    let gone = stack.delete(&one, &acme.owner.token).await;
    assert_eq!(gone.body["data"]["status"], "withdrawn", "{gone:?}");
    stack
        .delete(&one, &acme.owner.token)
        .await
        .refused(409, "This invitation has ended already");
    let replaced = invited(&stack, &acme.owner, "c@d.example", "admin").await;
    let newer = invited(&stack, &acme.owner, "C@d.example", "member").await;
    let unknown = InvitationToken::generate([9; 32]);
    for ended in [withdrawn.as_str(), &replaced, unknown.expose(), "nonsense", ""] {
        inspect(&stack, ended).await.refused(404, ENDED);
        accept(&stack, ended, "Max", PASSWORD).await.refused(404, ENDED);
    }
    clock.advance(TimeDelta::days(7) - TimeDelta::milliseconds(1));
    assert_eq!(inspect(&stack, &newer).await.status, StatusCode::OK);
    clock.advance(TimeDelta::milliseconds(1));
    inspect(&stack, &newer).await.refused(404, ENDED);
    accept(&stack, &newer, "Max", PASSWORD).await.refused(404, ENDED);
    let owner = stack.signed_in(acme.owner.user_id, "owner@acme.example").await;
    let list = stack
        .get(&format!("{INVITATIONS}?pageSize=2"), &owner.token)
        .await;
    let statuses: Vec<&str> = list.body["data"]
        .as_array()
        .unwrap()
        .iter()
        .map(|invitation| invitation["status"].as_str().unwrap())
        .collect();
    assert_eq!(statuses, ["expired", "withdrawn"]);
    assert_eq!(list.body["meta"]["pagination"]["total"], 3);
    assert!(!list.body.to_string().contains("affi_"));
    assert_eq!(stack.count("users").await, 1);
    assert_eq!(audited(&stack, "invitation.withdrawn").await, 1);
}

#[tokio::test]
async fn an_address_with_an_account_comes_in_with_that_accounts_password() {
    let stack = Stack::start().await;
    let acme = stack.workspace("acme").await;
    let rival = stack.workspace("rival").await;
    let token = invited(&stack, &acme.owner, "Owner@rival.example", "admin").await;
    let wrong = "This address has an account: password must be that account's";
    for password in ["another password", "x"] {
        accept(&stack, &token, "", password).await.refused(400, wrong);
    }
    stack
        .execute("UPDATE users SET status = 'suspended' WHERE email = 'owner@rival.example'")
        .await;
    accept(&stack, &token, "", "another password")
        .await
        .refused(400, wrong);
    let suspended = accept(&stack, &token, "", PASSWORD).await;
    assert_eq!(suspended.status, StatusCode::FORBIDDEN);
    assert_eq!(
        suspended.body["error"]["details"],
        json!({ "code": "ACCOUNT_BLOCKED" })
    );
    stack.execute("UPDATE users SET status = 'active'").await;
    let accepted = accept(&stack, &token, "Another Name", PASSWORD).await;
    assert_eq!(accepted.status, StatusCode::CREATED, "{accepted:?}");
    assert_eq!(accepted.body["user"]["id"], rival.owner.user_id.get());
    assert_eq!(accepted.body["user"]["name"], "Somebody");
    let me = stack
        .get("/api/users/me", accepted.body["jwt"].as_str().unwrap())
        .await;
    assert_eq!(me.body["workspaces"].as_array().unwrap().len(), 2);
    assert_eq!(stack.count("users").await, 2);

    // A partner cannot become a member under the same address.
    stack.user(UserKind::Partner, "ada@letters.example").await;
    let token = invited(&stack, &acme.owner, "ada@letters.example", "member").await;
    let kind = "This address has an account of another kind";
    accept(&stack, &token, "Ada", PASSWORD).await.refused(409, kind);
    let program = Managed::new(&stack, &acme, "Acme").await;
    let partner = program.partner(&stack, "owner@rival.example", "pending").await;
    let token = test_harness::managed::token(&partner["invitation_url"]);
    accept(&stack, &token, "Olive", PASSWORD).await.refused(409, kind);
}

#[tokio::test]
async fn guesses_at_an_accounts_password_run_out_here_as_at_the_door() {
    let stack = Stack::start_set(&[("SIGN_IN_LIMIT", "8")]).await;
    let acme = stack.workspace("acme").await;
    stack.user(UserKind::Advertiser, "max@shop.example").await;
    let token = invited(&stack, &acme.owner, "Max@shop.example", "admin").await;
    let mut statuses = Vec::new();
    // Two a minute; the minute may end once.
    for _ in 0..5 {
        statuses.push(accept(&stack, &token, "Max", "wrong horse battery").await.status);
    }
    assert!(statuses.contains(&StatusCode::TOO_MANY_REQUESTS), "{statuses:?}");
    assert!(statuses.contains(&StatusCode::BAD_REQUEST), "{statuses:?}");
}

#[tokio::test]
async fn of_many_acceptances_at_once_one_wins() {
    let stack = Stack::start().await;
    let acme = stack.workspace("acme").await;
    stack.user(UserKind::Advertiser, "known@shop.example").await;
    for email in ["new@shop.example", "known@shop.example"] {
        let token = invited(&stack, &acme.owner, email, "admin").await;
        let try_it = || accept(&stack, &token, "Max", PASSWORD);
        let answers = tokio::join!(try_it(), try_it(), try_it());
        let statuses = [answers.0, answers.1, answers.2].map(|answer| answer.status.as_u16());
        let won = statuses.iter().filter(|status| **status == 201).count();
        // A slightly later request finds the invitation ended.
        let lost = statuses
            .iter()
            .filter(|status| [404, 409].contains(*status))
            .count();
        assert_eq!((won, lost), (1, 2), "{email}: {statuses:?}");
    }
    assert_eq!(stack.count("users").await, 3);
    assert_eq!(stack.count("workspace_members").await, 3);
    assert_eq!(audited(&stack, "invitation.accepted").await, 2);
}

#[tokio::test]
async fn two_invitations_of_a_new_address_at_once_make_one_account() {
    let stack = Stack::start().await;
    let acme = stack.workspace("acme").await;
    let rival = stack.workspace("rival").await;
    let ours = invited(&stack, &acme.owner, "new@shop.example", "admin").await;
    let theirs = invited(&stack, &rival.owner, "new@shop.example", "admin").await;
    let (one, two) = tokio::join!(
        accept(&stack, &ours, "Max", PASSWORD),
        accept(&stack, &theirs, "Max", PASSWORD)
    );
    let won = [&one, &two].iter().filter(|answer| answer.status == 201).count();
    assert!(won >= 1, "{one:?} {two:?}");
    assert_eq!(
        stack.count("users WHERE lower(email) = 'new@shop.example'").await,
        1
    );
    // The loser tries again: now the account exists.
    for (answer, token) in [(one, ours), (two, theirs)] {
        if answer.status != StatusCode::CREATED {
            let again = accept(&stack, &token, "Max", PASSWORD).await;
            assert_eq!(again.status, StatusCode::CREATED, "{again:?}");
        }
    }
    assert_eq!(stack.count("workspace_members").await, 4);
}

#[tokio::test]
async fn a_partner_gets_an_account_and_waits_for_approval() {
    let stack = Stack::start().await;
    let acme = stack.workspace("acme").await;
    let program = Managed::new(&stack, &acme, "Shop affiliates").await;
    let ada = program.partner(&stack, "ada@letters.example", "pending").await;
    let first = token(&ada["invitation_url"]);
    let one = format!("partners/{}", ada["id"]);
    let resent = program
        .submit(&stack, &format!("{one}/invitation"), json!({}))
        .await;
    assert_eq!(resent.status, StatusCode::CREATED, "{resent:?}");
    inspect(&stack, &first).await.refused(404, ENDED);
    let newer = token(&resent.body["data"]["invitation_url"]);
    assert_eq!(
        inspect(&stack, &newer).await.body["data"],
        json!({ "kind": "partner", "name": "Shop affiliates", "email": "ada@letters.example",
                "expires_at": resent.body["data"]["expires_at"] })
    );
    let accepted = accept(&stack, &newer, "Ada L.", PASSWORD).await;
    assert_eq!(accepted.status, StatusCode::CREATED, "{accepted:?}");
    assert_eq!(accepted.body["user"]["kind"], "partner");
    let shown = program.get(&stack, &one).await.body["data"].clone();
    assert_eq!(
        (&shown["has_account"], &shown["status"]),
        (&json!(true), &json!("pending"))
    );
    // The name that the advertiser chose.
    assert_eq!(shown["name"], "Ada");
    let owner: i64 = stack.value("SELECT user_id FROM partners").await;
    assert_eq!(accepted.body["user"]["id"], owner);
    // For the next program of the workspace the partner needs no link.
    let next = Managed::new(&stack, &acme, "Next").await;
    let added = next.partner(&stack, "ada@letters.example", "approved").await;
    assert_eq!(
        (&added["has_account"], &added["invitation_url"]),
        (&json!(true), &Value::Null)
    );
    // This route withdraws members' invitations only; a partner's belongs to the program.
    let id: i64 = stack.value("SELECT max(id) FROM invitations").await;
    let gone = stack
        .delete(&format!("{INVITATIONS}/{id}"), &acme.owner.token)
        .await;
    gone.refused(404, "Invitation not found");
    assert_eq!(audited(&stack, "partner.invited").await, 3);
}

#[tokio::test]
async fn of_many_new_links_at_once_one_works() {
    let stack = Stack::start().await;
    let acme = stack.workspace("acme").await;
    let program = Managed::new(&stack, &acme, "Acme").await;
    let ada = program.partner(&stack, "ada@letters.example", "pending").await;
    let again = format!("partners/{}/invitation", ada["id"]);
    let resend = || program.submit(&stack, &again, json!({}));
    let answers = tokio::join!(resend(), resend(), resend(), resend());
    let mut open = 0;
    for answer in [answers.0, answers.1, answers.2, answers.3] {
        let token = token(&answer.body["data"]["invitation_url"]);
        open += usize::from(inspect(&stack, &token).await.status == StatusCode::OK);
    }
    assert_eq!(open, 1);
}

#[tokio::test]
async fn an_invitation_ends_with_the_right_it_came_from() {
    let stack = Stack::start().await;
    let acme = stack.workspace("acme").await;
    let program = Managed::new(&stack, &acme, "Acme").await;
    let admin = stack
        .member(acme.workspace_id, "admin@acme.example", Role::Admin)
        .await;
    let owner = stack
        .member(acme.workspace_id, "second@acme.example", Role::Owner)
        .await;
    let removed = invited(&stack, &admin, "one@shop.example", "admin").await;
    let partner = json!({ "name": "Ada", "email": "ada@letters.example" });
    let path = format!("{PROGRAMS}/{}/partners", program.id);
    let partner = stack.submit(&path, Some(&admin.token), partner).await;
    let partner = token(&partner.body["data"]["invitation_url"]);
    let demoted = invited(&stack, &owner, "two@shop.example", "owner").await;
    let kept = invited(&stack, &owner, "three@shop.example", "admin").await;
    let members = "/api/advertiser/members";
    let member = async |person: &Person| {
        let id: i64 = sqlx::query_scalar("SELECT id FROM workspace_members WHERE user_id = $1")
            .bind(person.user_id.get())
            .fetch_one(stack.pool())
            .await
            .unwrap();
        format!("{members}/{id}")
    };
    let gone = stack.delete(&member(&admin).await, &acme.owner.token).await;
    assert_eq!(gone.status, StatusCode::NO_CONTENT);
    let to_admin = json!({ "role": "admin" });
    let changed = stack
        .put(&member(&owner).await, &acme.owner.token, to_admin)
        .await;
    assert_eq!(changed.status, StatusCode::OK, "{changed:?}");
    for token in [&removed, &partner, &demoted] {
        inspect(&stack, token).await.refused(404, ENDED);
        accept(&stack, token, "Max", PASSWORD).await.refused(404, ENDED);
    }
    assert_eq!(audited(&stack, "invitation.withdrawn").await, 3);
    assert_eq!(inspect(&stack, &kept).await.status, StatusCode::OK);
    // The right is checked at acceptance too, wherever it ended.
    stack
        .execute("UPDATE users SET status = 'suspended' WHERE email = 'second@acme.example'")
        .await;
    accept(&stack, &kept, "Max", PASSWORD).await.refused(404, ENDED);
    assert_eq!(stack.count("users").await, 3);
}
