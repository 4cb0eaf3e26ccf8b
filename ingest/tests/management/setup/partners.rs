//! Partners of a program: invited, approved, suspended and approved again; and the effect on clicks and
//! sales.

use futures::future::join_all;
use serde_json::json;
use test_harness::managed::{Managed, PROGRAMS, audited, token};
use test_harness::{Json, Stack, refused_each, rows, statuses};

const ADA: &str = "ada@letters.example";

async fn click_status(stack: &Stack, code: &str) -> u16 {
    stack.click_with(code, json!({})).await.status.as_u16()
}

#[tokio::test]
async fn an_address_is_one_partner_in_whichever_letters() {
    let (stack, program) = Stack::with_managed().await;
    let ada = program.partner(&stack, "ÄDA@letters.example", "pending").await;
    assert_eq!(ada["email"], "äda@letters.example");
    for same in ["äda@letters.example", "A\u{308}DA@Letters.example"] {
        let again = json!({ "name": "Ada", "email": same });
        let answer = program.submit(&stack, "partners", again).await;
        answer.refused(409, "This partner is in the program already");
    }
    assert_eq!(stack.count("partners").await, 1);
    for hidden in ["a\u{200B}da@letters.example", "\u{202E}ada@letters.example"] {
        let body = json!({ "name": "Ada", "email": hidden });
        let answer = program.submit(&stack, "partners", body).await;
        answer.refused(400, "email must be an e-mail address");
    }
}

#[tokio::test]
async fn partners_are_found_by_a_part_of_their_name_or_address() {
    let (stack, acme) = Stack::with_workspace().await;
    let rival = stack.workspace("rival").await;
    let program = Managed::new(&stack, &acme, "Acme").await;
    let other = Managed::new(&stack, &acme, "Other").await;
    let theirs = Managed::new(&stack, &rival, "Rival").await;
    for (program, name, email, status) in [
        (&program, "Ada Lovelace", "countess@letters.example", "approved"),
        (&program, "adam", "eden@letters.example", "pending"),
        (&program, "Grace Hopper", "Ada.fan@letters.example", "approved"),
        (&program, "50% off_", "deals@letters.example", "approved"),
        (&other, "Ada Byron", "byron@letters.example", "approved"),
        (&theirs, "Ada Rival", "ada@reviews.example", "approved"),
    ] {
        let body = json!({ "name": name, "email": email, "status": status });
        program.submit(&stack, "partners", body).await.created();
    }
    let all_adas = json!(["Grace Hopper", "adam", "Ada Lovelace"]);
    let (path, token) = (program.path("partners"), &program.owner.token);
    let names = json!({
        "search=ada": all_adas,
        "search=%20ADA%20": all_adas,
        "search=ada%20l": ["Ada Lovelace"],
        "search=ada&status=pending": ["adam"],
        "search=lovelace": ["Ada Lovelace"],
        "search=.FAN%40": ["Grace Hopper"],
        "search=countess%40letters.example": ["Ada Lovelace"],
        // A search text is not a pattern.
        "search=%25_": [],
        "search=%25": ["50% off_"],
        "search=50%25%20off_": ["50% off_"],
        "search=50%25_off": [],
        "sort=name&order=asc": ["50% off_", "Ada Lovelace", "adam", "Grace Hopper"],
        "sort=name&order=asc&pageSize=1&page=2": ["Ada Lovelace"],
        "sort=name&search=ada": all_adas,
    });
    stack.lists(token, &path, "name", names).await;
    let page = program.get(&stack, "partners?search=ada&pageSize=1&page=2").await;
    assert_eq!(page.column("name"), json!(["adam"]));
    assert_eq!(page.total(), 3);
    let invisible = "search must be 1 to 120 visible characters";
    let refusals = json!({
        "sort=email": "sort must be one of name, clicks, last_clicked, owed",
        "sort=name&order=up": "order must be asc or desc",
        "search=%20": invisible,
        "search=%E2%80%8B": invisible,
        format!("search={}", "a".repeat(121)): invisible,
    });
    stack.refuses(token, &path, refusals).await;
}

#[tokio::test]
async fn names_that_show_nothing_or_hide_something_are_refused_wherever_they_are_typed() {
    let (stack, acme) = Stack::with_workspace().await;
    let owner = &acme.owner;
    let program = Managed::new(&stack, &acme, "Acme").await;
    let ada = program.partner(&stack, ADA, "pending").await;
    let key = owner.api_key(json!({ "name": "Backend" })).await;
    let one = format!("partners/{}", ada["id"]);
    let keys = "/api/advertiser/api-keys";
    let hidden = "name must not contain control characters or invisible ones";
    let names = json!({
        "name is required": [" \u{2003}\t "],
        hidden: ["\u{200B}", "Ada\u{7}", "Ada\nBoss", "\u{202E}adA", "Ada\u{2069}", "\u{FEFF}Ada"],
    });
    for path in [PROGRAMS, &program.path("partners"), keys] {
        let create = async |name| {
            owner
                .submit(path, json!({ "name": name, "email": "new@letters.example" }))
                .await
        };
        refused_each(400, names.clone(), create).await;
    }
    for path in [
        program.path(""),
        program.path(&one),
        format!("{keys}/{}", key["id"]),
        format!("/api/advertiser/workspaces/{}", acme.workspace_id),
    ] {
        let rename = async |name| owner.put(&path, json!({ "name": name })).await;
        refused_each(400, names.clone(), rename).await;
    }
    let trimmed = json!({ "name": " \u{3000}Ada \u{1F469}\u{200D}\u{1F4BB} " });
    let renamed = program.put(&stack, &one, trimmed).await;
    assert_eq!(renamed.data()["name"], "Ada \u{1F469}\u{200D}\u{1F4BB}");
}

#[tokio::test]
async fn a_partner_is_one_record_of_the_workspace_by_address() {
    let (stack, acme) = Stack::with_workspace().await;
    let program = Managed::new(&stack, &acme, "Acme").await;
    let other = Managed::new(&stack, &acme, "Other").await;
    let ada = json!({ "name": "Ada", "email": "Ada@letters.example" });
    let added = program.submit(&stack, "partners", ada).await.created();
    let data = added.data();
    data.has(json!({
        "name": "Ada", "email": ADA, "status": "pending", "has_account": false, "clicks": 0,
        "last_clicked": null, "balances": [],
    }));
    let token = token(&data["invitation_url"]);
    assert!(!rows::text_of_all_rows(&stack).await.contains(&token[5..]));
    let again = json!({ "name": "A.", "email": " ada@LETTERS.example " });
    let twice = program.submit(&stack, "partners", again.clone()).await;
    twice.refused(409, "This partner is in the program already");
    // The same person in another program, under an earlier name.
    let elsewhere = other.submit(&stack, "partners", again).await;
    elsewhere
        .data()
        .has(json!({ "partner_id": data["partner_id"], "name": "Ada" }));
    assert_ne!(elsewhere.id(), added.id());
    assert_eq!(stack.count("partners").await, 1);
    assert_eq!(audited(&stack, "partner.invited").await, 2);
}

#[tokio::test]
async fn a_new_partner_needs_a_name_and_an_address() {
    let (stack, program) = Stack::with_managed().await;
    let refusals = json!({
        "name is required": [{ "email": ADA }],
        "email is required": [{ "name": "Ada" }],
        "email must be an e-mail address": [{ "name": "Ada", "email": "ada" }],
        "email must be a string": [{ "name": "Ada", "email": 5 }],
        "status must be pending or approved": [
            { "name": "Ada", "email": ADA, "status": "suspended" },
        ],
    });
    refused_each(400, refusals, |body| program.submit(&stack, "partners", body)).await;
    assert_eq!(stack.count("partners").await, 0);
    let ada = program.partner(&stack, ADA, "pending").await;
    let one = format!("partners/{}", ada["id"]);
    let refusals = json!({
        "status must be approved or suspended": [{ "status": "pending" }, { "status": null }],
        "name is required": [{ "name": "" }],
    });
    refused_each(400, refusals, |body| program.put(&stack, &one, body)).await;
}

#[tokio::test]
async fn partners_are_listed_by_status_and_found_in_their_program_only() {
    let (stack, acme) = Stack::with_workspace().await;
    let program = Managed::new(&stack, &acme, "Acme").await;
    let other = Managed::new(&stack, &acme, "Other").await;
    let ada = program.partner(&stack, ADA, "pending").await;
    let bruno = program.partner(&stack, "bruno@reviews.example", "approved").await;
    other.partner(&stack, "carla@blog.example", "approved").await;
    let all = program.get(&stack, "partners").await;
    assert_eq!(all.column("id"), json!([bruno["id"], ada["id"]]));
    let approved = program.get(&stack, "partners?status=approved&pageSize=1").await;
    assert_eq!(approved.column("id"), json!([bruno["id"]]));
    assert_eq!(
        approved.body["meta"]["pagination"],
        json!({ "page": 1, "pageSize": 1, "pageCount": 1, "total": 1, "upTo": bruno["id"] })
    );
    let unknown = program.get(&stack, "partners?status=gone").await;
    unknown.refused(400, "status must be one of pending, approved, suspended");
    let one = format!("partners/{}", ada["id"]);
    let read = program.get(&stack, &one).await;
    assert_eq!(read.data()["email"], ADA);
    assert!(!read.body.to_string().contains("invitation"));
    let invite = format!("{one}/invitation");
    for answer in [
        other.get(&stack, &one).await,
        other.put(&stack, &one, json!({ "status": "approved" })).await,
        other.submit(&stack, &invite, json!({})).await,
        program.get(&stack, "partners/999999").await,
    ] {
        answer.refused(404, "Partner not found");
    }
}

#[tokio::test]
async fn a_membership_works_while_it_is_approved_and_not_while_it_is_suspended() {
    let (stack, program) = Stack::with_managed().await;
    let ada = program.partner(&stack, ADA, "pending").await;
    let one = format!("partners/{}", ada["id"]);
    let becomes = async |status: &str| {
        let changed = program.put(&stack, &one, json!({ "status": status })).await;
        assert_eq!(changed.data()["status"], status);
    };
    let sells = async |transaction_id: &str| {
        let sale = program.sale(&stack, transaction_id, "user-1").await;
        assert!(sale.body["commission_id"].is_i64(), "{sale:?}");
    };
    becomes("approved").await;
    program.link(&stack, &ada, "ada").await;
    program.customer(&stack, "ada", "user-1").await;
    sells("t1").await;

    becomes("suspended").await;
    assert_eq!(click_status(&stack, "ada").await, 410);
    let second = program.sale(&stack, "t2", "user-1").await;
    second.refused(400, "No partner-program relationship found for this customer");

    becomes("approved").await;
    let is_on = async || click_status(&stack, "ada").await == 200;
    stack.eventually("the link is on", is_on).await;
    sells("t2").await;
    stack.verify().await;
    let shown = program.get(&stack, &one).await.data().clone();
    let owed = json!([{ "currency": "USD", "balance_cents": 2000, "owed_cents": 2000 }]);
    assert_eq!(shown["balances"], owed);
    assert!(shown["clicks"].as_i64().unwrap() >= 2 && shown["last_clicked"].is_string());
    assert_eq!(audited(&stack, "partner.suspended").await, 1);
    assert_eq!(audited(&stack, "partner.approved").await, 2);
}

#[tokio::test]
async fn of_many_approvals_at_once_one_is_written_down() {
    let (stack, program) = Stack::with_managed().await;
    let ada = program.partner(&stack, ADA, "pending").await;
    let one = format!("partners/{}", ada["id"]);
    let approve = |_| program.put(&stack, &one, json!({ "status": "approved" }));
    for answer in join_all((0..4).map(approve)).await {
        assert_eq!(answer.data()["status"], "approved");
    }
    assert_eq!(audited(&stack, "partner.approved").await, 1);
}

#[tokio::test]
async fn of_many_invitations_of_one_address_at_once_one_partner_is_made() {
    let (stack, program) = Stack::with_managed().await;
    let ada = json!({ "name": "Ada", "email": ADA });
    let invite = |_| program.submit(&stack, "partners", ada.clone());
    let answers = join_all((0..4).map(invite)).await;
    assert_eq!(statuses(answers), [201, 409, 409, 409]);
    assert_eq!(stack.count("partners").await, 1);
}

#[tokio::test]
async fn workspaces_that_invite_the_same_address_learn_nothing_of_each_other() {
    let (stack, acme) = Stack::with_workspace().await;
    let rival = stack.workspace("rival").await;
    let ours = Managed::new(&stack, &acme, "Ours").await;
    let theirs = Managed::new(&stack, &rival, "Theirs").await;
    let later = Managed::new(&stack, &rival, "Later").await;
    let ada = ours.partner(&stack, ADA, "approved").await;
    let invitation = token(&ada["invitation_url"]);
    stack.accept(&invitation, "Ada L.").await.created();

    for program in [&theirs, &later] {
        let body = json!({ "name": "Somebody", "email": ADA });
        let added = program.submit(&stack, "partners", body).await;
        // The answer is the same as for an address without an account.
        added
            .data()
            .has(json!({ "has_account": false, "name": "Somebody" }));
        token(&added.data()["invitation_url"]);
        assert_ne!(added.data()["partner_id"], ada["partner_id"]);
    }
    let list = theirs.get(&stack, "partners").await;
    assert_eq!(list.column("name"), json!(["Somebody"]));
    let one = format!("partners/{}", ada["id"]);
    theirs.get(&stack, &one).await.refused(404, "Partner not found");
    // The inviting program sees that the account exists.
    let known = ours.get(&stack, &one).await;
    assert_eq!(known.data()["has_account"], true);
    let again = ours.submit(&stack, &format!("{one}/invitation"), json!({})).await;
    again.refused(409, "This partner has an account already");
}
