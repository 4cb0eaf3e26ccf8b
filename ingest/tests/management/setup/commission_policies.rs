//! Commission policies through the management API: the version in force at the time of a sale pays it.

use chrono::{SecondsFormat, TimeDelta};
use reqwest::StatusCode;
use runtime::clock::Clock;
use serde_json::{Value, json};
use test_harness::{
    Stack,
    managed::{Managed, PROGRAMS, audited},
    noon, rows,
};

/// Sells to `customer_key`, and returns the partner's commission.
async fn earned(stack: &Stack, program: &Managed, transaction_id: &str, more: Value) -> i64 {
    let mut body =
        json!({ "transaction_id": transaction_id, "amount_cents": 5000, "customer_key": "user-1" });
    body.as_object_mut()
        .unwrap()
        .extend(more.as_object().unwrap().clone());
    let sale = stack.post("sale", Some(&program.api_token), body).await;
    assert_eq!(sale.status, StatusCode::OK, "{sale:?}");
    rows::commission(stack, transaction_id).await["amount_cents"]
        .as_i64()
        .unwrap()
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
    let clock = Clock::manual(noon());
    let stack = Stack::start_with(clock.clone()).await;
    let program = with_a_customer(&stack).await;
    let begins = noon() + TimeDelta::hours(1);
    let policy = json!({
        "commission_type": "cps_recurring", "default_duration_months": 12, "rate_bps": 3000,
        "effective_from": begins.to_rfc3339_opts(SecondsFormat::Millis, true),
    });
    let set = program.submit(&stack, "commission-policies", policy).await;
    assert_eq!(set.status, StatusCode::CREATED, "{set:?}");
    assert_eq!(set.body["data"]["in_force"], false);
    assert_eq!(set.body["data"]["effective_from"], "2026-03-01T13:00:00.000Z");

    clock.advance(TimeDelta::hours(1) - TimeDelta::milliseconds(1));
    assert_eq!(earned(&stack, &program, "t1", json!({})).await, 1000);
    clock.advance(TimeDelta::milliseconds(1));
    assert_eq!(earned(&stack, &program, "t2", json!({})).await, 1500);
    // The first commission has not changed.
    assert_eq!(rows::commission(&stack, "t1").await["rate_bps"], 2000);
    stack.verify().await;
}

#[tokio::test]
async fn a_policy_is_in_force_at_once_unless_said_otherwise() {
    let clock = Clock::manual(noon());
    let stack = Stack::start_with(clock.clone()).await;
    let program = with_a_customer(&stack).await;
    assert_eq!(earned(&stack, &program, "t1", json!({})).await, 1000);
    clock.advance(TimeDelta::seconds(1));
    let policy = json!({ "commission_type": "cps_lifetime", "fixed_cents": 700 });
    let set = program.submit(&stack, "commission-policies", policy).await;
    assert_eq!(set.body["data"]["in_force"], true, "{set:?}");
    assert_eq!(set.body["data"]["currency"], "USD");
    assert_eq!(earned(&stack, &program, "t2", json!({})).await, 700);
    let product = json!({ "commission_type": "cps_lifetime", "rate_bps": 5000, "product_id": "kit" });
    program.submit(&stack, "commission-policies", product).await;
    assert_eq!(
        earned(&stack, &program, "t3", json!({ "product_id": "kit" })).await,
        2500
    );
    assert_eq!(
        earned(&stack, &program, "t4", json!({ "product_id": "other" })).await,
        700
    );
}

#[tokio::test]
async fn the_list_and_the_program_show_what_is_in_force() {
    let clock = Clock::manual(noon());
    let stack = Stack::start_with(clock.clone()).await;
    let acme = stack.workspace("acme").await;
    let made = stack
        .submit(PROGRAMS, Some(&acme.owner.token), json!({ "name": "Bare" }))
        .await;
    let bare = stack
        .get(
            &format!("{PROGRAMS}/{}", made.body["data"]["id"]),
            &acme.owner.token,
        )
        .await;
    let pays = |program: &Value| {
        [
            "commission_type",
            "default_duration_months",
            "rate_bps",
            "fixed_cents",
        ]
        .map(|name| program[name].clone())
    };
    for program in [&made.body["data"], &bare.body["data"]] {
        assert!(program.as_object().unwrap().contains_key("commission_type"));
        assert_eq!(pays(program), [(); 4].map(|()| Value::Null));
    }
    let program = Managed::new(&stack, &acme, "Acme").await;
    clock.advance(TimeDelta::days(1));
    let tomorrow = (noon() + TimeDelta::days(2)).to_rfc3339();
    for policy in [
        json!({ "commission_type": "cps_one_time", "fixed_cents": 900, "currency": "eur" }),
        json!({ "commission_type": "cps_lifetime", "rate_bps": 100, "effective_from": tomorrow }),
        json!({ "commission_type": "cps_lifetime", "rate_bps": 200, "product_id": "kit" }),
    ] {
        let set = program.submit(&stack, "commission-policies", policy).await;
        assert_eq!(set.status, StatusCode::CREATED, "{set:?}");
    }
    let in_force = async || {
        let list = program.get(&stack, "commission-policies").await;
        let policies = list.body["data"].as_array().unwrap().clone();
        policies
            .iter()
            .map(|policy| policy["in_force"].as_bool().unwrap())
            .collect::<Vec<_>>()
    };
    // Newest first: the kit's, tomorrow's, today's, yesterday's.
    assert_eq!(in_force().await, [true, false, true, false]);
    let path = format!("{PROGRAMS}/{}", program.id);
    let shown = stack.get(&path, &acme.owner.token).await;
    let today = json!(["cps_one_time", 0, null, 900]);
    assert_eq!(json!(pays(&shown.body["data"])), today);
    let list = stack.get(PROGRAMS, &acme.owner.token).await;
    assert_eq!(json!(pays(&list.body["data"][0])), today);
    clock.advance(TimeDelta::days(1));
    assert_eq!(in_force().await, [true, true, false, false]);
    let shown = stack.get(&path, &acme.owner.token).await;
    assert_eq!(
        json!(pays(&shown.body["data"])),
        json!(["cps_lifetime", null, 100, null])
    );
    let page = program.get(&stack, "commission-policies?pageSize=3&page=2").await;
    assert_eq!(page.body["data"].as_array().unwrap().len(), 1);
    assert_eq!(page.body["meta"]["pagination"]["total"], 4);
    assert_eq!(audited(&stack, "commission_policy.created").await, 4);
}

#[tokio::test]
async fn a_policy_that_cannot_be_is_refused_by_its_field_and_none_is_ever_changed() {
    let clock = Clock::manual(noon());
    let stack = Stack::start_with(clock).await;
    let acme = stack.workspace("acme").await;
    let program = Managed::new(&stack, &acme, "Acme").await;
    for (body, message) in [
        (
            json!({ "commission_type": "cps_lifetime", "rate_bps": 20.5 }),
            "rate_bps must be an integer from 0 to 10000",
        ),
        (
            json!({ "commission_type": "cps_recurring", "rate_bps": 2000 }),
            "default_duration_months must be a positive integer for cps_recurring",
        ),
        (
            json!({ "commission_type": "cps_lifetime", "rate_bps": 2000, "effective_from": "2026-03-01T11:59:59Z" }),
            "effective_from must not be in the past",
        ),
        (
            json!({ "commission_type": "cps_lifetime", "rate_bps": 2000, "product_id": "a\u{0}b" }),
            "product_id must not contain NUL characters",
        ),
    ] {
        let answer = program.submit(&stack, "commission-policies", body).await;
        answer.refused(400, message);
    }
    let policies = program.get(&stack, "commission-policies").await;
    assert_eq!(policies.body["meta"]["pagination"]["total"], 1);
    let path = program.path("commission-policies");
    let change = stack
        .put(&path, &acme.owner.token, json!({ "rate_bps": 1 }))
        .await;
    assert_eq!(change.status, StatusCode::METHOD_NOT_ALLOWED);
    let gone = stack.delete(&path, &acme.owner.token).await;
    assert_eq!(gone.status, StatusCode::METHOD_NOT_ALLOWED);
}
