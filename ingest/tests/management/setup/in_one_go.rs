//! Two objects are created together or not at all: a partner with a referral link, a program with a
//! commission policy.

use serde_json::{Value, json};
use test_harness::managed::{Managed, PROGRAMS, audit_actions, audited};
use test_harness::{Answer, Json, Stack, refused_each};

async fn add(stack: &Stack, program: &Managed, email: &str, link: Value) -> Answer {
    let body = json!({ "name": "Ada", "email": email, "status": "approved", "referral_link": link });
    program.submit(stack, "partners", body).await
}

#[tokio::test]
async fn a_partner_comes_with_a_referral_link_or_not_at_all() {
    let (stack, program) = Stack::with_managed().await;
    let add = |email, link| add(&stack, &program, email, link);

    let summer = json!({ "short_code": "ada-summer" });
    let first = add("ada@letters.example", summer.clone()).await.created();
    let link = &first.data()["referral_link"];
    link.has(json!({ "short_code": "ada-summer", "partner_program_id": first.id() }));
    assert_eq!(audited(&stack, "referral_link.created").await, 1);

    // A taken code leaves no partner behind: the same partner can be added with another code.
    let taken = add("bea@letters.example", summer).await;
    taken.refused(409, "short_code is taken by another link");
    for rows in ["partners", "partner_programs", "invitations", "referral_links"] {
        assert_eq!(stack.count(rows).await, 1, "{rows}");
    }
    let made_up = add("bea@letters.example", json!({})).await.created();
    assert!(made_up.data()["referral_link"]["short_code"].is_string());
    assert!(made_up.data()["invitation_url"].is_string());

    // A request without a link creates none.
    let without = program.partner(&stack, "cleo@letters.example", "approved").await;
    assert_eq!(without["referral_link"], json!(null));
}

#[tokio::test]
async fn a_partner_is_not_added_with_a_link_that_will_not_do() {
    let (stack, program) = Stack::with_managed().await;
    let refusals = json!({
        "referral_link must be an object": ["ada", ["ada"]],
        "short_code must be 3 to 64 letters, digits, hyphens or underscores": [
            { "short_code": "a b" }, { "short_code": 7 },
        ],
    });
    let add_ada = |link| add(&stack, &program, "ada@letters.example", link);
    refused_each(400, refusals, add_ada).await;
    let body = json!({ "name": "Ada", "email": "ada@letters.example", "referral_link": {} });
    let pending = program.submit(&stack, "partners", body).await;
    pending.refused(
        400,
        "referral_link must be null: only approved partners have links",
    );
    assert_eq!(stack.count("partners").await, 0);
}

#[tokio::test]
async fn a_program_comes_with_a_commission_policy_or_not_at_all() {
    let (stack, acme) = Stack::with_workspace().await;
    let create = async |policy: Value| {
        let body = json!({ "name": "Kyoto", "currency": "JPY", "commission_policy": policy });
        acme.owner.submit(PROGRAMS, body).await
    };
    let refusals = json!({
        "commission_policy must be an object": ["20 %"],
        "rate_bps or fixed_cents is required": [{ "commission_type": "cps_lifetime" }],
    });
    refused_each(400, refusals, &create).await;
    assert_eq!(stack.count("programs").await, 0);
    assert_eq!(audit_actions(&stack, "action LIKE 'program.%'").await, [""; 0]);

    let made = create(json!({ "commission_type": "cps_lifetime", "fixed_cents": 500 })).await;
    let path = format!("{PROGRAMS}/{}/commission-policies", made.id());
    let policies = acme.owner.get(&path).await;
    assert_eq!(policies.total(), 1);
    // The policy is in the program's own currency.
    policies.data()[0].has(json!({ "fixed_cents": 500, "currency": "JPY" }));
    assert_eq!(audited(&stack, "commission_policy.created").await, 1);
}
