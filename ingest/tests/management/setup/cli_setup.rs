//! Set-up by a connected command line: programs with their policy, and the payment processor.

use chrono::TimeDelta;
use reqwest::StatusCode;
use runtime::clock::Clock;
use serde_json::{Value, json};

use crate::auth::cli_login::connected;
use test_harness::{Answer, Stack};

const INIT: &str = "/api/v1/cli/init";
const CONNECT: &str = "/api/v1/cli/stripe-connect";
const SECRET: &str = "whsec_0123456789abcdef";

async fn init(stack: &Stack, token: &str, change: Value) -> Answer {
    let mut body = json!({
        "name": "Shop", "domain": "https://Shop.example/", "commission_type": "recurring_percent",
        "commission_rate": 20, "cookie_duration": 60, "duration_months": 12,
    });
    body.as_object_mut()
        .unwrap()
        .extend(change.as_object().unwrap().clone());
    stack.submit(INIT, Some(token), body).await
}

#[tokio::test]
async fn init_makes_a_program_with_its_policy_in_one_step() {
    let stack = Stack::start().await;
    let acme = stack.workspace("acme").await;
    let token = connected(&stack, &acme).await;
    let made = init(&stack, &token, json!({})).await;
    assert_eq!(made.status, StatusCode::OK, "{made:?}");
    let (id, key) = (
        made.body["program_id"].as_str().unwrap(),
        made.body["api_key"].as_str().unwrap(),
    );
    assert_eq!(made.body["domain"], "shop.example");
    assert!(made.body["program_slug"].as_str().unwrap().starts_with("shop-"));
    // The key works at once, and the management API shows the same program.
    assert_eq!(
        stack.get("/api/v1/cli/status", key).await.body["data"]["program_id"],
        id
    );
    let managed = stack
        .get(
            &format!("/api/advertiser/affiliate-programs/{id}"),
            &acme.owner.token,
        )
        .await;
    assert_eq!(managed.body["data"]["cookie_window_days"], 60);
    assert_eq!(managed.body["data"]["workspace_id"], acme.workspace_id.get());
    let policy: Value = stack.value("SELECT to_jsonb(p) FROM commission_policies p").await;
    assert_eq!(
        (
            &policy["commission_type"],
            &policy["default_duration_months"],
            &policy["rate_bps"]
        ),
        (&json!("cps_recurring"), &json!(12), &json!(2_000))
    );
    let audited: String = stack
        .value("SELECT action || ' ' || actor FROM audit_log WHERE program_id IS NOT NULL")
        .await;
    assert_eq!(audited, "program.created user");
    // The policy has an effect: it pays a partner.
    let ada = stack
        .partner(domain::ids::ProgramId::new(id.parse().unwrap()), "ada")
        .await;
    let click_id = stack.click(&ada.code).await;
    stack
        .post(
            "lead",
            Some(key),
            json!({ "click_id": click_id, "customer_key": "u1" }),
        )
        .await;
    let sale = json!({ "transaction_id": "t1", "amount_cents": 5_000, "customer_key": "u1" });
    assert_eq!(stack.post("sale", Some(key), sale).await.status, StatusCode::OK);
    assert_eq!(stack.balance(ada.membership).await, 1_000);
    let listed = stack.get("/api/v1/cli/programs", &token).await;
    let created_at = &listed.body[0]["created_at"];
    assert_eq!(
        listed.body,
        json!([{ "id": id.parse::<i64>().unwrap(), "name": "Shop", "domain": "shop.example", "status": "draft",
                 "commission": "20%", "partners": 1, "created_at": created_at }])
    );
}

#[tokio::test]
async fn rates_are_exact_and_commissions_are_what_the_client_calls_them() {
    let stack = Stack::start().await;
    let acme = stack.workspace("acme").await;
    let token = connected(&stack, &acme).await;
    for (change, kind, months, bps, cents, shown) in [
        (
            json!({ "commission_type": "percent", "commission_rate": 12.5 }),
            "cps_one_time",
            json!(0),
            json!(1_250),
            Value::Null,
            "12.5%",
        ),
        (
            json!({ "commission_type": "percent", "commission_rate": "0.01" }),
            "cps_one_time",
            json!(0),
            json!(1),
            Value::Null,
            "0.01%",
        ),
        (
            json!({ "commission_type": "fixed", "commission_rate": 10 }),
            "cps_one_time",
            json!(0),
            Value::Null,
            json!(1_000),
            "10.00 USD",
        ),
        (
            json!({ "commission_type": "recurring_fixed", "commission_rate": 0.29, "duration_months": null }),
            "cps_lifetime",
            Value::Null,
            Value::Null,
            json!(29),
            "0.29 USD",
        ),
        (
            json!({ "commission_type": "recurring_fixed", "commission_rate": 5, "duration_months": 0 }),
            "cps_lifetime",
            Value::Null,
            Value::Null,
            json!(500),
            "5.00 USD",
        ),
        (
            json!({ "commission_type": "recurring_percent", "commission_rate": 100.00, "duration_months": 1 }),
            "cps_recurring",
            json!(1),
            json!(10_000),
            Value::Null,
            "100%",
        ),
    ] {
        let made = init(&stack, &token, change.clone()).await;
        assert_eq!(made.status, StatusCode::OK, "{change}: {made:?}");
        let policy: Value = stack
            .value("SELECT to_jsonb(p) FROM commission_policies p ORDER BY id DESC LIMIT 1")
            .await;
        let stored = [
            "commission_type",
            "default_duration_months",
            "rate_bps",
            "fixed_cents",
        ]
        .map(|column| policy[column].clone());
        assert_eq!(stored, [json!(kind), months, bps, cents], "{change}");
        let listed = stack.get("/api/v1/cli/programs", &token).await;
        assert_eq!(listed.body[0]["commission"], shown, "{change}");
    }
}

#[tokio::test]
async fn what_cannot_be_set_up_is_refused_by_the_clients_own_names_and_leaves_nothing() {
    let stack = Stack::start().await;
    let acme = stack.workspace("acme").await;
    let token = connected(&stack, &acme).await;
    let percentage = "commission_rate must be a number above 0 and up to 100, with at most two decimals";
    let amount =
        "commission_rate must be an amount above 0 in units of the currency, with at most two decimals";
    let kind = "commission_type must be one of percent, fixed, recurring_percent, recurring_fixed";
    let months = "duration_months must be an integer from 0 to 120";
    let days = "cookie_duration must be an integer from 1 to 365";
    for (change, message) in [
        (json!({ "name": "" }), "name is required"),
        (
            json!({ "domain": "not a host" }),
            "domain must be a host name such as shop.example",
        ),
        (json!({ "commission_type": "hybrid" }), kind),
        (json!({ "commission_type": null }), kind),
        (json!({ "commission_rate": 100.01 }), percentage),
        (json!({ "commission_rate": 0 }), percentage),
        (json!({ "commission_rate": 12.345 }), percentage),
        (json!({ "commission_rate": null }), percentage),
        (json!({ "commission_rate": {} }), percentage),
        (
            json!({ "commission_type": "fixed", "commission_rate": -1 }),
            amount,
        ),
        (
            json!({ "commission_type": "fixed", "commission_rate": "1e3" }),
            amount,
        ),
        (json!({ "duration_months": -1 }), months),
        (json!({ "duration_months": 121 }), months),
        (json!({ "duration_months": "12" }), months),
        (json!({ "cookie_duration": 0 }), days),
        (json!({ "cookie_duration": 366 }), days),
        (json!({ "cookie_duration": "60" }), days),
        (
            json!({ "advertiser_id": "mine" }),
            "advertiser_id must be an integer",
        ),
    ] {
        init(&stack, &token, change.clone()).await.refused(400, message);
    }
    for token in ["", "affs_x"] {
        let answer = init(&stack, token, json!({})).await;
        answer.refused(401, "Missing or invalid credentials");
    }
    assert_eq!(stack.count("programs").await, 0);
}

/// Connects the processor of a program with a credential.
async fn connect(stack: &Stack, program_id: &Value, token: &str, change: Value) -> Answer {
    let mut body = json!({
        "program_id": program_id, "stripe_user_id": "acct_1", "webhook_endpoint_id": "we_1", "webhook_secret": SECRET,
    });
    body.as_object_mut()
        .unwrap()
        .extend(change.as_object().unwrap().clone());
    stack.submit(CONNECT, Some(token), body).await
}

#[tokio::test]
async fn a_processor_is_connected_with_the_programs_key_or_by_who_may_change_it() {
    let stack = Stack::start().await;
    let acme = stack.workspace("acme").await;
    let token = connected(&stack, &acme).await;
    let made = init(&stack, &token, json!({})).await;
    let (id, key) = (&made.body["program_id"], made.body["api_key"].as_str().unwrap());
    let by_key = connect(&stack, id, key, json!({})).await;
    assert_eq!(
        by_key.body,
        json!({ "connected": true, "stripe_account_id": "acct_1", "webhook_endpoint_id": "we_1",
                "charges_enabled": false, "payouts_enabled": false })
    );
    let status = stack.get("/api/v1/cli/status", key).await;
    assert_eq!(status.body["data"]["stripe_connected"], true);
    let replaced = connect(
        &stack,
        id,
        key,
        json!({ "webhook_secret": "whsec_of_a_thief_0001" }),
    )
    .await;
    let message = "The program has a connection already: sign in to change it";
    replaced.refused(403, message);
    let number: i64 = id.as_str().unwrap().parse().unwrap();
    let by_session = connect(
        &stack,
        &json!(number),
        &token,
        json!({ "stripe_user_id": "acct_2" }),
    )
    .await;
    assert_eq!(by_session.body["stripe_account_id"], "acct_2");
    let actors: String = stack
        .value("SELECT string_agg(actor, ', ' ORDER BY id) FROM audit_log WHERE action = 'processor_connection.updated'")
        .await;
    assert_eq!(actors, "program, user");
    let stored: String = stack
        .value("SELECT string_agg(c::text, '') || string_agg(a::text, '') FROM processor_connections c, audit_log a")
        .await;
    assert!(!stored.contains("whsec"), "{stored}");
    let program = format!("/api/advertiser/affiliate-programs/{number}");
    stack.delete(&program, &acme.owner.token).await;
    let archived = connect(&stack, id, &token, json!({})).await;
    archived.refused(409, "This program is archived");
}

#[tokio::test]
async fn a_processor_of_another_program_or_half_a_connection_is_refused() {
    let stack = Stack::start().await;
    let (acme, rival) = (stack.workspace("acme").await, stack.workspace("rival").await);
    let (token, theirs) = (connected(&stack, &acme).await, connected(&stack, &rival).await);
    let made = init(&stack, &token, json!({})).await;
    let id = &made.body["program_id"];
    let other = init(&stack, &theirs, json!({})).await;
    let foreign_key = other.body["api_key"].as_str().unwrap();
    let unknown = domain::token::ProgramToken::generate([1; 32]);
    for (token, status, message) in [
        (
            // another program's key
            foreign_key,
            403,
            "program_id does not match the API key",
        ),
        (
            // another's session
            &theirs,
            403,
            "You do not have access to this resource",
        ),
        (
            // the dashboard's session
            &acme.owner.token,
            401,
            "This credential is not accepted here",
        ),
        (unknown.expose(), 401, "Invalid API token"),
        ("", 401, "Missing or invalid credentials"),
    ] {
        connect(&stack, id, token, json!({}))
            .await
            .refused(status, message);
    }
    let short = "webhook_secret must have 16 to 255 visible ASCII characters";
    for (change, status, message) in [
        (json!({ "program_id": 999 }), 404, "Program not found"),
        (
            json!({ "program_id": null }),
            400,
            "program_id must be an integer",
        ),
        (json!({ "stripe_user_id": "" }), 400, "stripe_user_id is required"),
        (
            json!({ "webhook_endpoint_id": null }),
            400,
            "webhook_endpoint_id is required",
        ),
        (
            json!({ "webhook_secret": 5 }),
            400,
            "webhook_secret must be a string",
        ),
        (json!({ "webhook_secret": "short" }), 400, short),
    ] {
        let answer = connect(&stack, id, &token, change.clone()).await;
        answer.refused(status, message);
    }
    assert_eq!(stack.count("processor_connections").await, 0);
}

#[tokio::test]
async fn a_command_lines_login_of_long_ago_replaces_no_connection() {
    let clock = Clock::manual("2026-11-21T12:00:00Z".parse().unwrap());
    let stack = Stack::start_with(clock.clone()).await;
    let acme = stack.workspace("acme").await;
    let token = connected(&stack, &acme).await;
    let made = init(&stack, &token, json!({})).await;
    let id = &made.body["program_id"];
    clock.advance(TimeDelta::minutes(31));
    assert_eq!(
        connect(&stack, id, &token, json!({})).await.status,
        StatusCode::OK
    );
    let thiefs = json!({ "webhook_secret": "whsec_of_a_thief_0001" });
    let replaced = connect(&stack, id, &token, thiefs).await;
    assert_eq!(replaced.status, StatusCode::FORBIDDEN, "{replaced:?}");
    assert_eq!(replaced.body["error"]["details"]["code"], "PASSWORD_REQUIRED");
}
