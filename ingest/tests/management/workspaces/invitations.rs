//! One-time links into a workspace and to partners' accounts: accepted once, withdrawn, expired.

use chrono::TimeDelta;
use domain::people::account::UserKind;
use domain::people::permission::Role;
use domain::token::InvitationToken;
use futures::future::join_all;
use serde_json::{Value, json};
use test_harness::managed::{Managed, PROGRAMS, audited, token};
use test_harness::{Answer, Json, PASSWORD, Person, Stack, noon, refused_each, rows, statuses, succeeds};

const INVITATIONS: &str = "/api/advertiser/invitations";
const ENDED: &str = "Invitation not found, or no longer valid";
const ADA: &str = "ada@letters.example";

async fn invite(person: &Person, body: Value) -> Answer {
    person.submit(INVITATIONS, body).await
}

/// Invites into the only workspace that the person runs; returns the token.
pub async fn invited(person: &Person, email: &str, role: &str) -> String {
    let answer = invite(person, json!({ "email": email, "role": role })).await;
    token(&answer.created().data()["invitation_url"])
}

async fn inspect(stack: &Stack, token: &str) -> Answer {
    let body = json!({ "token": token });
    stack.submit("/api/auth/invitations/inspect", None, body).await
}

async fn accept(stack: &Stack, token: &str, name: &str, password: &str) -> Answer {
    let body = json!({ "token": token, "name": name, "password": password });
    stack.submit("/api/auth/invitations/accept", None, body).await
}

/// Asserts that an invitation is good for nothing.
async fn ended(stack: &Stack, token: &str) {
    inspect(stack, token).await.refused(404, ENDED);
    stack.accept(token, "Max").await.refused(404, ENDED);
}

#[tokio::test]
async fn a_member_comes_in_once_with_what_they_were_given() {
    let (stack, acme) = Stack::with_workspace().await;
    let program = Managed::new(&stack, &acme, "Given").await;
    let hidden = Managed::new(&stack, &acme, "Hidden").await;
    let permissions = json!({ program.id.to_string(): ["program:list", "program:read"] });
    let body = json!({ "email": "Max@shop.example", "role": "member", "permissions": permissions });
    let invited = invite(&acme.owner, body).await.created();
    let data = invited.data();
    data.has(json!({ "status": "pending", "role": "member", "permissions": permissions }));
    let token = token(&data["invitation_url"]);
    assert_eq!(
        *inspect(&stack, &token).await.data(),
        json!({ "kind": "advertiser", "name": "acme", "email": "max@shop.example",
                "expires_at": data["expires_at"] })
    );
    let accepted = stack.accept(&token, "Max").await.created();
    accepted.body["user"].has(json!({ "kind": "advertiser", "email": "max@shop.example" }));
    assert!(accepted.header("set-cookie").starts_with("__Host-session="));
    let session = accepted.session();
    let me = stack.get("/api/users/me", &session).await;
    assert_eq!(me.body["workspaces"][0]["role"], "member");
    let list = stack.get(PROGRAMS, &session).await;
    assert_eq!(list.column("name"), json!(["Given"]));
    stack.get(&hidden.path(""), &session).await.is(403);
    stack.sign_in("max@shop.example", PASSWORD).await.ok();

    ended(&stack, &token).await;
    let again = invite(
        &acme.owner,
        json!({ "email": "max@SHOP.example", "role": "admin" }),
    )
    .await;
    again.refused(409, "They work in this workspace already");
    assert_eq!(audited(&stack, "member.invited").await, 1);
    assert_eq!(audited(&stack, "invitation.accepted").await, 1);
    let stored = rows::text_of_all_rows(&stack).await;
    assert!(!stored.contains(&token) && !stored.contains(PASSWORD));
}

/// The inviter has seen the link, so its use does not prove who owns the address.
#[tokio::test]
async fn an_account_made_by_an_invitation_is_unverified_until_an_operator_says_so() {
    let (stack, acme) = Stack::with_workspace().await;
    let token = invited(&acme.owner, "max@shop.example", "member").await;
    let accepted = stack.accept(&token, "Max").await;
    assert_eq!(accepted.body["user"]["verified"], false);
    let verified = async || acme.owner.get("/api/advertiser/members").await.column("verified");
    assert_eq!(verified().await, json!([true, false]));
    // The repeated command adds no second entry.
    for _ in 0..2 {
        succeeds(&stack, &["user", "verify", "--email", "max@shop.example"]).await;
    }
    assert_eq!(verified().await, json!([true, true]));
    assert_eq!(audited(&stack, "user.verified").await, 1);
}

#[tokio::test]
async fn invitations_are_searched_by_address_and_sorted() {
    let stack = Stack::at_noon().await;
    let owner = stack.workspace("acme").await.owner;
    let rival = stack.workspace("rival").await;
    let [max, ann, zoe] = ["max@shop.example", "ann@shop.example", "zoe@letters.example"];
    for email in [max, "Ann@shop.example", zoe] {
        invited(&owner, email, "member").await;
        stack.clock.advance(TimeDelta::minutes(1));
    }
    invited(&rival.owner, "eve@shop.example", "member").await;
    let emails = json!({
        "": [zoe, ann, max],
        "search=SHOP": [ann, max],
        "search=shop&sort=expires_at&order=asc": [max, ann],
        "search=eve": [],
        "sort=email&order=asc": [ann, max, zoe],
        "sort=email&pageSize=2": [zoe, max],
        "sort=expires_at": [zoe, ann, max],
    });
    stack.lists(&owner.token, INVITATIONS, "email", emails).await;
    let refusals = json!({ "sort=role": "sort must be one of email, expires_at" });
    stack.refuses(&owner.token, INVITATIONS, refusals).await;
}

#[tokio::test]
async fn owners_invite_anybody_and_admins_no_owners() {
    let (stack, acme) = Stack::with_workspace().await;
    let admin = acme.join(&stack, "admin", Role::Admin).await;
    for (person, role, status) in [
        (&acme.owner, "owner", 201),
        (&admin, "owner", 403),
        (&admin, "admin", 201),
    ] {
        let body = json!({ "email": "new@shop.example", "role": role });
        invite(person, body).await.is(status);
    }
}

#[tokio::test]
async fn an_invitation_says_what_is_wrong_with_it() {
    let (stack, acme) = Stack::with_workspace().await;
    let rival = stack.workspace("rival").await;
    let theirs = Managed::new(&stack, &rival, "Theirs").await.id.to_string();
    let ours = Managed::new(&stack, &acme, "Ours").await.id.to_string();
    let with =
        |permissions: Value| json!({ "email": "a@b.example", "role": "member", "permissions": permissions });
    let form = "permissions must map ids of this workspace's programs to lists of permissions, such as \
                {\"1\": [\"tracking:read\"]}";
    let refusals = json!({
        "email is required": [{ "role": "member" }],
        "role must be one of owner, admin, member": [
            { "email": "a@b.example" }, { "email": "a@b.example", "role": "king" },
        ],
        form: [
            with(json!([])), with(json!({ "one": [] })), with(json!({ "1": "program:read" })),
            with(json!({ "1": [1] })), with(json!({ theirs: ["program:read"] })),
            with(json!({ "999999": ["program:read"] })),
        ],
        "permissions names no permission: program:create": [with(json!({ ours: ["program:create"] }))],
        "permissions must be null: owners and admins may do everything": [
            { "email": "a@b.example", "role": "admin", "permissions": { "1": ["program:read"] } },
        ],
        "workspace_id must be an integer": [{ "email": "a@b.example", "role": "admin", "workspace_id": "2" }],
    });
    refused_each(400, refusals, |body| invite(&acme.owner, body)).await;
    let body = json!({ "token": 5 });
    let answer = stack.submit("/api/auth/invitations/inspect", None, body).await;
    answer.refused(400, "token is required");
    let token = invited(&acme.owner, "a@b.example", "admin").await;
    let refusals = json!({
        "name is required": [["", PASSWORD]],
        "password is required": [["Max", null]],
        "password must have 10 to 128 characters": [["Max", "short"]],
        "password is too easy to guess: take several words that have nothing to do with each other": [
            ["Max", "qwertyuiop12"],
        ],
    });
    let accept = async |case: Value| {
        let body = json!({ "token": token, "name": case[0], "password": case[1] });
        stack.submit("/api/auth/invitations/accept", None, body).await
    };
    refused_each(400, refusals, accept).await;
    stack.accept(&token, "Max").await.created();
}

#[tokio::test]
async fn what_was_withdrawn_or_replaced_or_is_over_opens_nothing() {
    let stack = Stack::at_noon().await;
    let acme = stack.workspace("acme").await;
    let answer = invite(&acme.owner, json!({ "email": "a@b.example", "role": "admin" })).await;
    let withdrawn = token(&answer.data()["invitation_url"]);
    let one = format!("{INVITATIONS}/{}", answer.id());
    let gone = acme.owner.delete(&one).await;
    assert_eq!(gone.data()["status"], "withdrawn");
    let again = acme.owner.delete(&one).await;
    again.refused(409, "This invitation has ended already");
    let replaced = invited(&acme.owner, "c@d.example", "admin").await;
    let newer = invited(&acme.owner, "C@d.example", "member").await;
    let unknown = InvitationToken::generate([9; 32]);
    for token in [withdrawn.as_str(), &replaced, unknown.expose(), "nonsense", ""] {
        ended(&stack, token).await;
    }
    stack
        .clock
        .set(noon() + TimeDelta::days(7) - TimeDelta::milliseconds(1));
    inspect(&stack, &newer).await.ok();
    stack.clock.set(noon() + TimeDelta::days(7));
    ended(&stack, &newer).await;
    let owner = stack.signed_in(acme.owner.user_id, "owner@acme.example").await;
    let list = owner.get(&format!("{INVITATIONS}?pageSize=2")).await;
    assert_eq!(list.column("status"), json!(["expired", "withdrawn"]));
    assert_eq!(list.total(), 3);
    assert!(!list.body.to_string().contains("affi_"));
    assert_eq!(stack.count("users").await, 1);
    assert_eq!(audited(&stack, "invitation.withdrawn").await, 1);
}

#[tokio::test]
async fn an_address_with_an_account_comes_in_with_that_accounts_password() {
    let (stack, acme) = Stack::with_workspace().await;
    let rival = stack.workspace("rival").await;
    let token = invited(&acme.owner, "Owner@rival.example", "admin").await;
    let wrong = "This address has an account: password must be that account's";
    for password in ["another password", "x"] {
        accept(&stack, &token, "", password).await.refused(400, wrong);
    }
    let statement = "UPDATE users SET status = 'suspended' WHERE email = 'owner@rival.example'";
    stack.execute(statement).await;
    accept(&stack, &token, "", "another password")
        .await
        .refused(400, wrong);
    accept(&stack, &token, "", PASSWORD)
        .await
        .forbidden("ACCOUNT_BLOCKED");
    stack.execute("UPDATE users SET status = 'active'").await;
    let accepted = stack.accept(&token, "Another Name").await.created();
    accepted.body["user"].has(json!({ "id": rival.owner.user_id, "name": "Somebody" }));
    let me = stack.get("/api/users/me", &accepted.session()).await;
    assert_eq!(me.body["workspaces"].as_array().unwrap().len(), 2);
    assert_eq!(stack.count("users").await, 2);

    // A partner cannot become a member under the same address.
    stack.user(UserKind::Partner, ADA).await;
    let for_ada = invited(&acme.owner, ADA, "member").await;
    let program = Managed::new(&stack, &acme, "Acme").await;
    let olive = program.partner(&stack, "owner@rival.example", "pending").await;
    let for_olive = test_harness::managed::token(&olive["invitation_url"]);
    for token in [for_ada, for_olive] {
        let refused = stack.accept(&token, "Ada").await;
        refused.refused(409, "This address has an account of another kind");
    }
}

#[tokio::test]
async fn guesses_at_an_accounts_password_run_out_here_as_at_the_door() {
    let stack = Stack::start_set(&[("SIGN_IN_LIMIT", "8")]).await;
    let acme = stack.workspace("acme").await;
    stack.user(UserKind::Advertiser, "max@shop.example").await;
    let token = invited(&acme.owner, "Max@shop.example", "admin").await;
    let mut found = Vec::new();
    // Two a minute; the minute may end once.
    for _ in 0..5 {
        found.push(accept(&stack, &token, "Max", "wrong horse battery").await);
    }
    let found = statuses(found);
    assert!(found.contains(&429) && found.contains(&400), "{found:?}");
}

#[tokio::test]
async fn of_many_acceptances_at_once_one_wins() {
    let (stack, acme) = Stack::with_workspace().await;
    stack.user(UserKind::Advertiser, "known@shop.example").await;
    for email in ["new@shop.example", "known@shop.example"] {
        let token = invited(&acme.owner, email, "admin").await;
        let found = statuses(join_all((0..3).map(|_| stack.accept(&token, "Max"))).await);
        // A slightly later request finds the invitation ended.
        assert!(
            matches!(found[..], [201, 404 | 409, 404 | 409]),
            "{email}: {found:?}"
        );
    }
    assert_eq!(stack.count("users").await, 3);
    assert_eq!(stack.count("workspace_members").await, 3);
    assert_eq!(audited(&stack, "invitation.accepted").await, 2);
}

#[tokio::test]
async fn two_invitations_of_a_new_address_at_once_make_one_account() {
    let (stack, acme) = Stack::with_workspace().await;
    let rival = stack.workspace("rival").await;
    let ours = invited(&acme.owner, "new@shop.example", "admin").await;
    let theirs = invited(&rival.owner, "new@shop.example", "admin").await;
    let (one, two) = tokio::join!(stack.accept(&ours, "Max"), stack.accept(&theirs, "Max"));
    assert!(one.status == 201 || two.status == 201, "{one:?} {two:?}");
    assert_eq!(
        stack.count("users WHERE lower(email) = 'new@shop.example'").await,
        1
    );
    // The loser tries again: now the account exists.
    for (answer, token) in [(one, ours), (two, theirs)] {
        if answer.status != 201 {
            stack.accept(&token, "Max").await.created();
        }
    }
    assert_eq!(stack.count("workspace_members").await, 4);
}

#[tokio::test]
async fn a_partner_gets_an_account_and_waits_for_approval() {
    let (stack, acme) = Stack::with_workspace().await;
    let program = Managed::new(&stack, &acme, "Shop affiliates").await;
    let ada = program.partner(&stack, ADA, "pending").await;
    let one = format!("partners/{}", ada["id"]);
    let resent = program
        .submit(&stack, &format!("{one}/invitation"), json!({}))
        .await;
    let resent = resent.created().data().clone();
    inspect(&stack, &token(&ada["invitation_url"]))
        .await
        .refused(404, ENDED);
    let newer = token(&resent["invitation_url"]);
    assert_eq!(
        *inspect(&stack, &newer).await.data(),
        json!({ "kind": "partner", "name": "Shop affiliates", "email": ADA,
                "expires_at": resent["expires_at"] })
    );
    let accepted = stack.accept(&newer, "Ada L.").await.created();
    assert_eq!(accepted.body["user"]["kind"], "partner");
    // The name that the advertiser chose.
    let shown = program.get(&stack, &one).await;
    shown
        .data()
        .has(json!({ "has_account": true, "status": "pending", "name": "Ada" }));
    let owner: i64 = stack.value("SELECT user_id FROM partners").await;
    assert_eq!(accepted.body["user"]["id"], owner);
    // For the next program of the workspace the partner needs no link.
    let next = Managed::new(&stack, &acme, "Next").await;
    let added = next.partner(&stack, ADA, "approved").await;
    added.has(json!({ "has_account": true, "invitation_url": null }));
    // This route withdraws members' invitations only; a partner's belongs to the program.
    let id: i64 = stack.value("SELECT max(id) FROM invitations").await;
    let gone = acme.owner.delete(&format!("{INVITATIONS}/{id}")).await;
    gone.refused(404, "Invitation not found");
    assert_eq!(audited(&stack, "partner.invited").await, 3);
}

#[tokio::test]
async fn of_many_new_links_at_once_one_works() {
    let (stack, program) = Stack::with_managed().await;
    let ada = program.partner(&stack, ADA, "pending").await;
    let again = format!("partners/{}/invitation", ada["id"]);
    let mut open = 0;
    for answer in join_all((0..4).map(|_| program.submit(&stack, &again, json!({})))).await {
        let token = token(&answer.data()["invitation_url"]);
        open += usize::from(inspect(&stack, &token).await.status == 200);
    }
    assert_eq!(open, 1);
}

#[tokio::test]
async fn an_invitation_ends_with_the_right_it_came_from() {
    let (stack, acme) = Stack::with_workspace().await;
    let program = Managed::new(&stack, &acme, "Acme").await;
    let admin = acme.join(&stack, "admin", Role::Admin).await;
    let owner = acme.join(&stack, "second", Role::Owner).await;
    let removed = invited(&admin, "one@shop.example", "admin").await;
    let partner = json!({ "name": "Ada", "email": ADA });
    let partner = admin.submit(&program.path("partners"), partner).await;
    let partner = token(&partner.data()["invitation_url"]);
    let demoted = invited(&owner, "two@shop.example", "owner").await;
    let kept = invited(&owner, "three@shop.example", "admin").await;
    acme.owner.delete(&stack.member_path(&admin).await).await.is(204);
    let to_admin = json!({ "role": "admin" });
    acme.owner
        .put(&stack.member_path(&owner).await, to_admin)
        .await
        .ok();
    for token in [&removed, &partner, &demoted] {
        ended(&stack, token).await;
    }
    assert_eq!(audited(&stack, "invitation.withdrawn").await, 3);
    inspect(&stack, &kept).await.ok();
    // The right is checked at acceptance too, wherever it ended.
    let statement = "UPDATE users SET status = 'suspended' WHERE email = 'second@acme.example'";
    stack.execute(statement).await;
    stack.accept(&kept, "Max").await.refused(404, ENDED);
    assert_eq!(stack.count("users").await, 3);
}
