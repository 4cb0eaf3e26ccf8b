//! Partners of a program: invited, approved, suspended and approved again; and the effect on clicks and
//! sales.

use domain::people::permission::Role;
use reqwest::StatusCode;
use serde_json::{Value, json};
use test_harness::{
    Answer, Stack,
    managed::{Managed, PROGRAMS, audited, token},
};

async fn click_status(stack: &Stack, code: &str) -> StatusCode {
    stack.click_with(code, json!({})).await.status
}

#[tokio::test]
async fn an_address_is_one_partner_in_whichever_letters() {
    let stack = Stack::start().await;
    let acme = stack.workspace("acme").await;
    let program = Managed::new(&stack, &acme, "Acme").await;
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
    let stack = Stack::start().await;
    let (acme, rival) = (stack.workspace("acme").await, stack.workspace("rival").await);
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
        let added = program.submit(&stack, "partners", body).await;
        assert_eq!(added.status, StatusCode::CREATED, "{added:?}");
    }
    let found = async |query: &str| {
        let list = program.get(&stack, &format!("partners?{query}")).await;
        assert_eq!(list.status, StatusCode::OK, "{list:?}");
        let names: Vec<Value> = list.body["data"]
            .as_array()
            .unwrap()
            .iter()
            .map(|partner| partner["name"].clone())
            .collect();
        (json!(names), list.body["meta"]["pagination"]["total"].clone())
    };
    for (query, names) in [
        ("search=ada", json!(["Grace Hopper", "adam", "Ada Lovelace"])),
        (
            "search=%20ADA%20",
            json!(["Grace Hopper", "adam", "Ada Lovelace"]),
        ),
        ("search=ada%20l", json!(["Ada Lovelace"])),
        ("search=ada&status=pending", json!(["adam"])),
        ("search=lovelace", json!(["Ada Lovelace"])),
        ("search=.FAN%40", json!(["Grace Hopper"])),
        ("search=countess%40letters.example", json!(["Ada Lovelace"])),
        // A search text is not a pattern.
        ("search=%25_", json!([])),
        ("search=%25", json!(["50% off_"])),
        ("search=50%25%20off_", json!(["50% off_"])),
        ("search=50%25_off", json!([])),
    ] {
        let total = json!(names.as_array().unwrap().len());
        assert_eq!(found(query).await, (names, total), "{query}");
    }
    assert_eq!(
        found("search=ada&pageSize=1&page=2").await,
        (json!(["adam"]), json!(3))
    );
    for (sorted, names) in [
        (
            "sort=name&order=asc",
            json!(["50% off_", "Ada Lovelace", "adam", "Grace Hopper"]),
        ),
        (
            "sort=name&search=ada",
            json!(["Grace Hopper", "adam", "Ada Lovelace"]),
        ),
        ("sort=name&order=asc&pageSize=1&page=2", json!(["Ada Lovelace"])),
    ] {
        assert_eq!(found(sorted).await.0, names, "{sorted}");
    }
    program
        .get(&stack, "partners?sort=email")
        .await
        .refused(400, "sort must be one of name, clicks, last_clicked, owed");
    program
        .get(&stack, "partners?sort=name&order=up")
        .await
        .refused(400, "order must be asc or desc");
    for nothing in [
        "search=%20",
        "search=%E2%80%8B",
        &format!("search={}", "a".repeat(121)),
    ] {
        program
            .get(&stack, &format!("partners?{nothing}"))
            .await
            .refused(400, "search must be 1 to 120 visible characters");
    }
}

#[tokio::test]
async fn names_that_show_nothing_or_hide_something_are_refused_wherever_they_are_typed() {
    let stack = Stack::start().await;
    let acme = stack.workspace("acme").await;
    let token = &acme.owner.token;
    let program = Managed::new(&stack, &acme, "Acme").await;
    let ada = program.partner(&stack, "ada@letters.example", "pending").await;
    let key = json!({ "name": "Backend", "scopes": ["program:read"] });
    let key = stack
        .submit("/api/advertiser/api-keys", Some(token), key)
        .await
        .body["data"]["id"]
        .clone();
    let hidden = "name must not contain control characters or invisible ones";
    for (name, message) in [
        (" \u{2003}\t ", "name is required"),
        ("\u{200B}", hidden),
        ("Ada\u{7}", hidden),
        ("Ada\nBoss", hidden),
        ("\u{202E}adA", hidden),
        ("Ada\u{2069}", hidden),
        ("\u{FEFF}Ada", hidden),
    ] {
        let named = json!({ "name": name });
        for path in [
            PROGRAMS.to_owned(),
            program.path("partners"),
            "/api/advertiser/api-keys".to_owned(),
        ] {
            let body = json!({ "name": name, "email": "new@letters.example" });
            stack.submit(&path, Some(token), body).await.refused(400, message);
        }
        for path in [
            format!("{PROGRAMS}/{}", program.id),
            program.path(&format!("partners/{}", ada["id"])),
            format!("/api/advertiser/api-keys/{key}"),
            format!("/api/advertiser/workspaces/{}", acme.workspace_id),
        ] {
            stack.put(&path, token, named.clone()).await.refused(400, message);
        }
    }
    let trimmed = json!({ "name": " \u{3000}Ada \u{1F469}\u{200D}\u{1F4BB} " });
    let renamed = program
        .put(&stack, &format!("partners/{}", ada["id"]), trimmed)
        .await;
    assert_eq!(renamed.body["data"]["name"], "Ada \u{1F469}\u{200D}\u{1F4BB}");
}

#[tokio::test]
async fn a_partner_is_one_record_of_the_workspace_by_address() {
    let stack = Stack::start().await;
    let acme = stack.workspace("acme").await;
    let program = Managed::new(&stack, &acme, "Acme").await;
    let other = Managed::new(&stack, &acme, "Other").await;
    let ada = json!({ "name": "Ada", "email": "Ada@letters.example" });
    let added = program.submit(&stack, "partners", ada).await;
    assert_eq!(added.status, StatusCode::CREATED);
    let data = &added.body["data"];
    for (name, value) in [
        ("name", json!("Ada")),
        ("email", json!("ada@letters.example")),
        ("status", json!("pending")),
        ("has_account", json!(false)),
        ("clicks", json!(0)),
        ("last_clicked", Value::Null),
        ("balances", json!([])),
    ] {
        assert_eq!(data[name], value, "{name}");
    }
    let token = token(&data["invitation_url"]);
    let stored: String = stack
        .value("SELECT string_agg(i::text, ' ') || string_agg(a::text, ' ') FROM invitations i, audit_log a")
        .await;
    assert!(
        !stored.contains(&token) && !stored.contains(&token[5..]),
        "{stored}"
    );
    let again = json!({ "name": "A.", "email": " ada@LETTERS.example " });
    let twice = program.submit(&stack, "partners", again.clone()).await;
    twice.refused(409, "This partner is in the program already");
    // The same person in another program, under an earlier name.
    let elsewhere = other.submit(&stack, "partners", again).await.body["data"].clone();
    assert_eq!(elsewhere["partner_id"], data["partner_id"]);
    assert_ne!(elsewhere["id"], data["id"]);
    assert_eq!(elsewhere["name"], "Ada");
    assert_eq!(stack.count("partners").await, 1);
    assert_eq!(audited(&stack, "partner.invited").await, 2);
}

#[tokio::test]
async fn a_new_partner_needs_a_name_and_an_address() {
    let stack = Stack::start().await;
    let acme = stack.workspace("acme").await;
    let program = Managed::new(&stack, &acme, "Acme").await;
    for (body, message) in [
        (json!({ "email": "ada@letters.example" }), "name is required"),
        (json!({ "name": "Ada" }), "email is required"),
        (
            json!({ "name": "Ada", "email": "ada" }),
            "email must be an e-mail address",
        ),
        (json!({ "name": "Ada", "email": 5 }), "email must be a string"),
        (
            json!({ "name": "Ada", "email": "ada@letters.example", "status": "suspended" }),
            "status must be pending or approved",
        ),
    ] {
        let answer = program.submit(&stack, "partners", body).await;
        answer.refused(400, message);
    }
    assert_eq!(stack.count("partners").await, 0);
    let ada = program.partner(&stack, "ada@letters.example", "pending").await;
    let one = format!("partners/{}", ada["id"]);
    for (body, message) in [
        (
            json!({ "status": "pending" }),
            "status must be approved or suspended",
        ),
        (json!({ "status": null }), "status must be approved or suspended"),
        (json!({ "name": "" }), "name is required"),
    ] {
        program.put(&stack, &one, body).await.refused(400, message);
    }
}

#[tokio::test]
async fn partners_are_listed_by_status_and_found_in_their_program_only() {
    let stack = Stack::start().await;
    let acme = stack.workspace("acme").await;
    let program = Managed::new(&stack, &acme, "Acme").await;
    let other = Managed::new(&stack, &acme, "Other").await;
    let ada = program.partner(&stack, "ada@letters.example", "pending").await;
    let bruno = program.partner(&stack, "bruno@reviews.example", "approved").await;
    other.partner(&stack, "carla@blog.example", "approved").await;
    let all = program.get(&stack, "partners").await;
    let ids = |answer: &Answer| -> Vec<Value> {
        let partners = answer.body["data"].as_array().unwrap();
        partners.iter().map(|partner| partner["id"].clone()).collect()
    };
    assert_eq!(ids(&all), [bruno["id"].clone(), ada["id"].clone()]);
    let approved = program.get(&stack, "partners?status=approved&pageSize=1").await;
    assert_eq!(ids(&approved), [bruno["id"].clone()]);
    assert_eq!(
        approved.body["meta"]["pagination"],
        json!({ "page": 1, "pageSize": 1, "pageCount": 1, "total": 1, "upTo": bruno["id"] })
    );
    program
        .get(&stack, "partners?status=gone")
        .await
        .refused(400, "status must be one of pending, approved, suspended");
    let one = format!("partners/{}", ada["id"]);
    let read = program.get(&stack, &one).await;
    assert_eq!(read.body["data"]["email"], "ada@letters.example");
    assert!(!read.body.to_string().contains("invitation"));
    for answer in [
        other.get(&stack, &one).await,
        other.put(&stack, &one, json!({ "status": "approved" })).await,
        other
            .submit(&stack, &format!("{one}/invitation"), json!({}))
            .await,
        program.get(&stack, "partners/999999").await,
    ] {
        answer.refused(404, "Partner not found");
    }
    // A member who may read may not therefore change.
    let member = stack
        .member(acme.workspace_id, "member@acme.example", Role::Member)
        .await;
    stack
        .execute(&format!(
            "INSERT INTO member_permissions SELECT id, {}, '{{program:read}}' FROM workspace_members WHERE user_id = {}",
            program.id, member.user_id
        ))
        .await;
    let path = program.path(&one);
    assert_eq!(stack.get(&path, &member.token).await.status, StatusCode::OK);
    let change = stack
        .put(&path, &member.token, json!({ "status": "approved" }))
        .await;
    assert_eq!(change.status, StatusCode::FORBIDDEN);
}

#[tokio::test]
async fn a_membership_works_while_it_is_approved_and_not_while_it_is_suspended() {
    let stack = Stack::start().await;
    let acme = stack.workspace("acme").await;
    let program = Managed::new(&stack, &acme, "Acme").await;
    let ada = program.partner(&stack, "ada@letters.example", "pending").await;
    let one = format!("partners/{}", ada["id"]);
    let status = |status: &'static str| program.put(&stack, &one, json!({ "status": status }));
    assert_eq!(status("approved").await.body["data"]["status"], "approved");
    program.link(&stack, &ada, "ada").await;
    program.customer(&stack, "ada", "user-1").await;
    let first = program.sale(&stack, "t1", "user-1").await;
    assert!(first.body["commission_id"].is_i64(), "{first:?}");

    assert_eq!(status("suspended").await.body["data"]["status"], "suspended");
    assert_eq!(click_status(&stack, "ada").await, StatusCode::GONE);
    let second = program.sale(&stack, "t2", "user-1").await;
    let message = "No partner-program relationship found for this customer";
    second.refused(400, message);

    assert_eq!(status("approved").await.body["data"]["status"], "approved");
    stack
        .eventually("the link is on", async || {
            click_status(&stack, "ada").await == StatusCode::OK
        })
        .await;
    let third = program.sale(&stack, "t2", "user-1").await;
    assert!(third.body["commission_id"].is_i64(), "{third:?}");
    stack.verify().await;
    let shown = program.get(&stack, &one).await.body["data"].clone();
    assert_eq!(
        shown["balances"],
        json!([{ "currency": "USD", "balance_cents": 2000, "owed_cents": 2000 }])
    );
    assert!(shown["clicks"].as_i64().unwrap() >= 2 && shown["last_clicked"].is_string());
    assert_eq!(audited(&stack, "partner.suspended").await, 1);
    assert_eq!(audited(&stack, "partner.approved").await, 2);
}

#[tokio::test]
async fn of_many_approvals_at_once_one_is_written_down() {
    let stack = Stack::start().await;
    let acme = stack.workspace("acme").await;
    let program = Managed::new(&stack, &acme, "Acme").await;
    let ada = program.partner(&stack, "ada@letters.example", "pending").await;
    let one = format!("partners/{}", ada["id"]);
    let approve = || program.put(&stack, &one, json!({ "status": "approved" }));
    let answers = tokio::join!(approve(), approve(), approve(), approve());
    for answer in [answers.0, answers.1, answers.2, answers.3] {
        assert_eq!(answer.body["data"]["status"], "approved", "{answer:?}");
    }
    assert_eq!(audited(&stack, "partner.approved").await, 1);
}

#[tokio::test]
async fn of_many_invitations_of_one_address_at_once_one_partner_is_made() {
    let stack = Stack::start().await;
    let acme = stack.workspace("acme").await;
    let program = Managed::new(&stack, &acme, "Acme").await;
    let invite = || {
        let body = json!({ "name": "Ada", "email": "ada@letters.example" });
        program.submit(&stack, "partners", body)
    };
    let answers = tokio::join!(invite(), invite(), invite(), invite());
    let mut statuses = [answers.0, answers.1, answers.2, answers.3].map(|answer| answer.status.as_u16());
    statuses.sort_unstable();
    assert_eq!(statuses, [201, 409, 409, 409]);
    assert_eq!(stack.count("partners").await, 1);
}

#[tokio::test]
async fn workspaces_that_invite_the_same_address_learn_nothing_of_each_other() {
    let stack = Stack::start().await;
    let acme = stack.workspace("acme").await;
    let rival = stack.workspace("rival").await;
    let ours = Managed::new(&stack, &acme, "Ours").await;
    let theirs = Managed::new(&stack, &rival, "Theirs").await;
    let later = Managed::new(&stack, &rival, "Later").await;
    let ada = ours.partner(&stack, "ada@letters.example", "approved").await;
    let accept = json!({ "token": token(&ada["invitation_url"]), "name": "Ada L.", "password": "correct horse battery" });
    stack.created("/api/auth/invitations/accept", None, accept).await;

    let body = json!({ "name": "Somebody", "email": "ada@letters.example" });
    for program in [&theirs, &later] {
        let added = program.submit(&stack, "partners", body.clone()).await.body["data"].clone();
        // The answer is the same as for an address without an account.
        assert_eq!(added["has_account"], false);
        assert_eq!(added["name"], "Somebody");
        token(&added["invitation_url"]);
        assert_ne!(added["partner_id"], ada["partner_id"]);
    }
    let list = theirs.get(&stack, "partners").await;
    assert_eq!(list.body["meta"]["pagination"]["total"], 1);
    assert!(!list.body.to_string().contains("Ada L."));
    let one = format!("partners/{}", ada["id"]);
    theirs.get(&stack, &one).await.refused(404, "Partner not found");
    let through_ours = stack.get(&ours.path(&one), &rival.owner.token).await;
    assert_eq!(through_ours.status, StatusCode::FORBIDDEN);
    // The inviting program sees that the account exists.
    let known = ours.get(&stack, &one).await.body["data"].clone();
    assert_eq!(known["has_account"], true);
    let again = ours.submit(&stack, &format!("{one}/invitation"), json!({})).await;
    again.refused(409, "This partner has an account already");
}

#[tokio::test]
async fn an_archived_program_keeps_its_partners_as_they_are() {
    let stack = Stack::start().await;
    let acme = stack.workspace("acme").await;
    let program = Managed::new(&stack, &acme, "Acme").await;
    let ada = program.partner(&stack, "ada@letters.example", "approved").await;
    let link = program.link(&stack, &ada, "ada").await;
    let path = format!("{PROGRAMS}/{}", program.id);
    stack.delete(&path, &acme.owner.token).await;
    let one = format!("partners/{}", ada["id"]);
    let policy = json!({ "commission_type": "cps_lifetime", "rate_bps": 1 });
    for answer in [
        program
            .submit(&stack, "partners", json!({ "name": "B", "email": "b@c.example" }))
            .await,
        program.put(&stack, &one, json!({ "status": "suspended" })).await,
        program
            .submit(&stack, &format!("{one}/invitation"), json!({}))
            .await,
        program
            .submit(
                &stack,
                "referral-links",
                json!({ "partner_program_id": ada["id"] }),
            )
            .await,
        program
            .put(
                &stack,
                &format!("referral-links/{}", link["id"]),
                json!({ "status": "inactive" }),
            )
            .await,
        program.submit(&stack, "commission-policies", policy).await,
    ] {
        answer.refused(409, "This program is archived");
    }
    assert_eq!(program.get(&stack, "partners").await.status, StatusCode::OK);
}
