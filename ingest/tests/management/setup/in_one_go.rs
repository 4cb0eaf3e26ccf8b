//! Two objects are created together or not at all: a partner with a referral link, a program with a
//! commission policy.

use reqwest::StatusCode;
use serde_json::{Value, json};
use test_harness::managed::{Managed, PROGRAMS, audited};
use test_harness::{Answer, Stack};

async fn add(stack: &Stack, program: &Managed, email: &str, link: Value) -> Answer {
    let body = json!({ "name": "Ada", "email": email, "status": "approved", "referral_link": link });
    program.submit(stack, "partners", body).await
}

#[tokio::test]
async fn a_partner_comes_with_a_referral_link_or_not_at_all() {
    let stack = Stack::start().await;
    let acme = stack.workspace("acme").await;
    let program = Managed::new(&stack, &acme, "Acme").await;

    let first = add(
        &stack,
        &program,
        "ada@letters.example",
        json!({ "short_code": "ada-summer" }),
    )
    .await;
    assert_eq!(first.status, StatusCode::CREATED, "{first:?}");
    let link = &first.body["data"]["referral_link"];
    assert_eq!(
        (&link["short_code"], &link["partner_program_id"]),
        (&json!("ada-summer"), &first.body["data"]["id"])
    );
    assert_eq!(audited(&stack, "referral_link.created").await, 1);

    // A taken code leaves no partner behind: the same partner can be added with another code.
    let taken = json!({ "short_code": "ada-summer" });
    add(&stack, &program, "bea@letters.example", taken)
        .await
        .refused(409, "short_code is taken by another link");
    for rows in ["partners", "partner_programs", "invitations", "referral_links"] {
        assert_eq!(stack.count(rows).await, 1, "{rows}");
    }
    let made_up = add(&stack, &program, "bea@letters.example", json!({})).await;
    assert_eq!(made_up.status, StatusCode::CREATED, "{made_up:?}");
    assert!(made_up.body["data"]["referral_link"]["short_code"].is_string());
    assert!(made_up.body["data"]["invitation_url"].is_string());

    // A request without a link creates none.
    let without = program.partner(&stack, "cleo@letters.example", "approved").await;
    assert_eq!(without["referral_link"], json!(null));
}

#[tokio::test]
async fn a_partner_is_not_added_with_a_link_that_will_not_do() {
    let stack = Stack::start().await;
    let acme = stack.workspace("acme").await;
    let program = Managed::new(&stack, &acme, "Acme").await;
    for (link, why) in [
        (json!("ada"), "referral_link must be an object"),
        (json!(["ada"]), "referral_link must be an object"),
        (
            json!({ "short_code": "a b" }),
            "short_code must be 3 to 64 letters, digits, hyphens or underscores",
        ),
        (
            json!({ "short_code": 7 }),
            "short_code must be 3 to 64 letters, digits, hyphens or underscores",
        ),
    ] {
        add(&stack, &program, "ada@letters.example", link)
            .await
            .refused(400, why);
    }
    let body = json!({ "name": "Ada", "email": "ada@letters.example", "referral_link": {} });
    program.submit(&stack, "partners", body).await.refused(
        400,
        "referral_link must be null: only approved partners have links",
    );
    assert_eq!(stack.count("partners").await, 0);
}

#[tokio::test]
async fn a_program_comes_with_a_commission_policy_or_not_at_all() {
    let stack = Stack::start().await;
    let acme = stack.workspace("acme").await;
    let create = async |policy: Value| {
        let body = json!({ "name": "Kyoto", "currency": "JPY", "commission_policy": policy });
        stack.submit(PROGRAMS, Some(&acme.owner.token), body).await
    };
    for (policy, why) in [
        (json!("20 %"), "commission_policy must be an object"),
        (
            json!({ "commission_type": "cps_lifetime" }),
            "rate_bps or fixed_cents is required",
        ),
    ] {
        create(policy).await.refused(400, why);
    }
    assert_eq!(stack.count("programs").await, 0);
    assert_eq!(stack.count("audit_log WHERE action LIKE 'program.%'").await, 0);

    let made = create(json!({ "commission_type": "cps_lifetime", "fixed_cents": 500 })).await;
    assert_eq!(made.status, StatusCode::CREATED, "{made:?}");
    let id = made.body["data"]["id"].as_i64().unwrap();
    let path = format!("{PROGRAMS}/{id}/commission-policies");
    let policies = stack.get(&path, &acme.owner.token).await.body["data"].clone();
    assert_eq!(policies.as_array().unwrap().len(), 1);
    // The policy is in the program's own currency.
    assert_eq!(
        (&policies[0]["fixed_cents"], &policies[0]["currency"]),
        (&json!(500), &json!("JPY"))
    );
    assert_eq!(audited(&stack, "commission_policy.created").await, 1);
}
