//! Commission policies through the management API: the version in force at the time of a sale pays it.

use chrono::{SecondsFormat, TimeDelta};
use serde_json::{Value, json};
use test_harness::managed::{Managed, PROGRAMS, audited};
use test_harness::{Answer, Json, Stack, noon, refused_each, rows};

async fn set(stack: &Stack, program: &Managed, policy: Value) -> Answer {
    program.submit(stack, "commission-policies", policy).await
}

/// Sells to `customer_key`, and returns the partner's commission.
async fn earned(stack: &Stack, program: &Managed, transaction_id: &str, more: Value) -> i64 {
    let sale = json!({ "transaction_id": transaction_id, "amount_cents": 5000, "customer_key": "user-1" });
    let token = Some(program.api_token.as_str());
    stack.post("sale", token, sale.with(more)).await.ok();
    let commission = rows::commission(stack, transaction_id).await;
    commission["amount_cents"].as_i64().unwrap()
}

async fn with_a_customer(stack: &Stack) -> Managed {
    let acme = stack.workspace("acme").await;
    let program = Managed::new(stack, &acme, "Acme").await;
    let ada = program.partner(stack, "ada@letters.example", "approved").await;
    program.link(stack, &ada, "ada").await;
    program.customer(stack, "ada", "user-1").await;
    program
}

#[tokio::test]
async fn a_sale_before_a_policy_begins_is_paid_by_the_one_before_it() {
    let stack = Stack::at_noon().await;
    let program = with_a_customer(&stack).await;
    let begins = noon() + TimeDelta::hours(1);
    let policy = json!({
        "commission_type": "cps_recurring", "default_duration_months": 12, "rate_bps": 3000,
        "effective_from": begins.to_rfc3339_opts(SecondsFormat::Millis, true),
    });
    let set = set(&stack, &program, policy).await.created();
    set.data()
        .has(json!({ "in_force": false, "effective_from": "2026-03-01T13:00:00.000Z" }));

    stack.clock.set(begins - TimeDelta::milliseconds(1));
    assert_eq!(earned(&stack, &program, "t1", json!({})).await, 1000);
    stack.clock.set(begins);
    assert_eq!(earned(&stack, &program, "t2", json!({})).await, 1500);
    // The first commission has not changed.
    assert_eq!(rows::commission(&stack, "t1").await["rate_bps"], 2000);
    stack.verify().await;
}

#[tokio::test]
async fn a_policy_is_in_force_at_once_unless_said_otherwise() {
    let stack = Stack::at_noon().await;
    let program = with_a_customer(&stack).await;
    assert_eq!(earned(&stack, &program, "t1", json!({})).await, 1000);
    stack.clock.advance(TimeDelta::seconds(1));
    let policy = json!({ "commission_type": "cps_lifetime", "fixed_cents": 700 });
    let now = set(&stack, &program, policy).await;
    now.data().has(json!({ "in_force": true, "currency": "USD" }));
    assert_eq!(earned(&stack, &program, "t2", json!({})).await, 700);
    let product = json!({ "commission_type": "cps_lifetime", "rate_bps": 5000, "product_id": "kit" });
    set(&stack, &program, product).await.created();
    for (transaction_id, product_id, cents) in [("t3", "kit", 2500), ("t4", "other", 700)] {
        let of_product = json!({ "product_id": product_id });
        assert_eq!(earned(&stack, &program, transaction_id, of_product).await, cents);
    }
}

#[tokio::test]
async fn the_list_and_the_program_show_what_is_in_force() {
    let stack = Stack::at_noon().await;
    let owner = stack.workspace("acme").await.owner;
    let made = owner.submit(PROGRAMS, json!({ "name": "Bare" })).await;
    let bare = owner.get(&format!("{PROGRAMS}/{}", made.id())).await;
    let terms = [
        "commission_type",
        "default_duration_months",
        "rate_bps",
        "fixed_cents",
    ];
    let pays = |program: &Value| json!(terms.map(|name| program[name].clone()));
    for program in [made.data(), bare.data()] {
        assert!(program.as_object().unwrap().contains_key("commission_type"));
        assert_eq!(pays(program), json!([null, null, null, null]));
    }
    let program = Managed::new(&stack, &stack.workspace("other").await, "Acme").await;
    stack.clock.advance(TimeDelta::days(1));
    let tomorrow = (noon() + TimeDelta::days(2)).to_rfc3339();
    for policy in [
        json!({ "commission_type": "cps_one_time", "fixed_cents": 900, "currency": "eur" }),
        json!({ "commission_type": "cps_lifetime", "rate_bps": 100, "effective_from": tomorrow }),
        json!({ "commission_type": "cps_lifetime", "rate_bps": 200, "product_id": "kit" }),
    ] {
        set(&stack, &program, policy).await.created();
    }
    let in_force = async || {
        program
            .get(&stack, "commission-policies")
            .await
            .column("in_force")
    };
    let paid = async || pays(program.get(&stack, "").await.data());
    // Newest first: the kit's, tomorrow's, today's, yesterday's.
    assert_eq!(in_force().await, json!([true, false, true, false]));
    let today = json!(["cps_one_time", 0, null, 900]);
    assert_eq!(paid().await, today);
    let list = program.owner.get(PROGRAMS).await;
    assert_eq!(pays(&list.data()[0]), today);
    stack.clock.advance(TimeDelta::days(1));
    assert_eq!(in_force().await, json!([true, true, false, false]));
    assert_eq!(paid().await, json!(["cps_lifetime", null, 100, null]));
    let page = program.get(&stack, "commission-policies?pageSize=3&page=2").await;
    assert_eq!(page.column("in_force"), json!([false]));
    assert_eq!(page.total(), 4);
    assert_eq!(audited(&stack, "commission_policy.created").await, 4);
}

#[tokio::test]
async fn a_policy_that_cannot_be_is_refused_by_its_field_and_none_is_ever_changed() {
    let stack = Stack::at_noon().await;
    let program = Managed::new(&stack, &stack.workspace("acme").await, "Acme").await;
    let lifetime = |more: Value| json!({ "commission_type": "cps_lifetime", "rate_bps": 2000 }).with(more);
    let refusals = json!({
        "rate_bps must be an integer from 0 to 10000": [lifetime(json!({ "rate_bps": 20.5 }))],
        "default_duration_months must be a positive integer for cps_recurring": [
            { "commission_type": "cps_recurring", "rate_bps": 2000 },
        ],
        "effective_from must not be in the past": [
            lifetime(json!({ "effective_from": "2026-03-01T11:59:59Z" })),
        ],
        "product_id must not contain NUL characters": [lifetime(json!({ "product_id": "a\u{0}b" }))],
    });
    refused_each(400, refusals, |policy| set(&stack, &program, policy)).await;
    let policies = program.get(&stack, "commission-policies").await;
    assert_eq!(policies.total(), 1);
    let path = program.path("commission-policies");
    program.owner.put(&path, json!({ "rate_bps": 1 })).await.is(405);
    program.owner.delete(&path).await.is(405);
}
