//! Set-up by a connected command line: programs with their policy, and the payment processor.

use chrono::TimeDelta;
use domain::ids::ProgramId;
use domain::token::ProgramToken;
use serde_json::{Value, json};
use test_harness::managed::PROGRAMS;
use test_harness::{Answer, Json, Stack, refused_each, rows};

use crate::auth::cli_login::connected;

const INIT: &str = "/api/v1/cli/init";
const CONNECT: &str = "/api/v1/cli/stripe-connect";
const SECRET: &str = "whsec_0123456789abcdef";

async fn init(stack: &Stack, token: &str, change: Value) -> Answer {
    let body = json!({
        "name": "Shop", "domain": "https://Shop.example/", "commission_type": "recurring_percent",
        "commission_rate": 20, "cookie_duration": 60, "duration_months": 12,
    });
    stack.submit(INIT, Some(token), body.with(change)).await
}

/// The id and the key of a new program.
async fn shop(stack: &Stack, token: &str) -> (Value, String) {
    let made = init(stack, token, json!({})).await.ok().body;
    let key = made["api_key"].as_str().unwrap().to_owned();
    (made["program_id"].clone(), key)
}

#[tokio::test]
async fn init_makes_a_program_with_its_policy_in_one_step() {
    let (stack, acme) = Stack::with_workspace().await;
    let token = connected(&stack, &acme).await;
    let made = init(&stack, &token, json!({})).await.ok().body;
    let (id, key) = (
        made["program_id"].as_str().unwrap(),
        made["api_key"].as_str().unwrap(),
    );
    assert_eq!(made["domain"], "shop.example");
    assert!(made["program_slug"].as_str().unwrap().starts_with("shop-"));
    // The key works at once, and the management API shows the same program.
    let status = stack.get("/api/v1/cli/status", key).await;
    assert_eq!(status.data()["program_id"], id);
    let managed = acme.owner.get(&format!("{PROGRAMS}/{id}")).await;
    managed
        .data()
        .has(json!({ "cookie_window_days": 60, "workspace_id": acme.workspace_id }));
    let policy: Value = stack.value("SELECT to_jsonb(p) FROM commission_policies p").await;
    policy
        .has(json!({ "commission_type": "cps_recurring", "default_duration_months": 12, "rate_bps": 2_000 }));
    let query = "SELECT action || ' ' || actor FROM audit_log WHERE program_id IS NOT NULL";
    let audited: Vec<String> = stack.values(query).await;
    assert_eq!(audited, ["program.created user"]);
    // The policy has an effect: it pays a partner.
    let program_id: i64 = id.parse().unwrap();
    let ada = stack.partner(ProgramId::new(program_id), "ada").await;
    let lead = json!({ "click_id": stack.click(&ada.code).await, "customer_key": "u1" });
    stack.post("lead", Some(key), lead).await.ok();
    let sale = json!({ "transaction_id": "t1", "amount_cents": 5_000, "customer_key": "u1" });
    stack.post("sale", Some(key), sale).await.ok();
    assert_eq!(stack.balance(ada.membership).await, 1_000);
    let listed = stack.get("/api/v1/cli/programs", &token).await.body;
    assert_eq!(
        listed,
        json!([{ "id": program_id, "name": "Shop", "domain": "shop.example", "status": "draft",
                 "commission": "20%", "partners": 1, "created_at": listed[0]["created_at"] }])
    );
}

#[tokio::test]
async fn rates_are_exact_and_commissions_are_what_the_client_calls_them() {
    let (stack, acme) = Stack::with_workspace().await;
    let token = connected(&stack, &acme).await;
    // By the text: kind, rate and months; the stored type, months, basis points and cents.
    let cases = json!({
        "12.5%": ["percent", 12.5, 12, "cps_one_time", 0, 1_250, null],
        "0.01%": ["percent", "0.01", 12, "cps_one_time", 0, 1, null],
        "10.00 USD": ["fixed", 10, 12, "cps_one_time", 0, null, 1_000],
        "0.29 USD": ["recurring_fixed", 0.29, null, "cps_lifetime", null, null, 29],
        "5.00 USD": ["recurring_fixed", 5, 0, "cps_lifetime", null, null, 500],
        "100%": ["recurring_percent", 100.00, 1, "cps_recurring", 1, 10_000, null],
    });
    for (text, case) in cases.as_object().unwrap() {
        let change =
            json!({ "commission_type": case[0], "commission_rate": case[1], "duration_months": case[2] });
        init(&stack, &token, change).await.ok();
        let query = "SELECT to_jsonb(p) FROM commission_policies p ORDER BY id DESC LIMIT 1";
        let policy: Value = stack.value(query).await;
        policy.has(json!({
            "commission_type": case[3], "default_duration_months": case[4], "rate_bps": case[5],
            "fixed_cents": case[6],
        }));
        let listed = stack.get("/api/v1/cli/programs", &token).await;
        assert_eq!(listed.body[0]["commission"], text.as_str(), "{case}");
    }
}

#[tokio::test]
async fn what_cannot_be_set_up_is_refused_by_the_clients_own_names_and_leaves_nothing() {
    let (stack, acme) = Stack::with_workspace().await;
    let token = connected(&stack, &acme).await;
    let percentage = "commission_rate must be a number above 0 and up to 100, with at most two decimals";
    let amount =
        "commission_rate must be an amount above 0 in units of the currency, with at most two decimals";
    let kind = "commission_type must be one of percent, fixed, recurring_percent, recurring_fixed";
    let months = "duration_months must be an integer from 0 to 120";
    let days = "cookie_duration must be an integer from 1 to 365";
    let refusals = json!({
        "name is required": [{ "name": "" }],
        "domain must be a host name such as shop.example": [{ "domain": "not a host" }],
        kind: [{ "commission_type": "hybrid" }, { "commission_type": null }],
        percentage: [
            { "commission_rate": 100.01 }, { "commission_rate": 0 }, { "commission_rate": 12.345 },
            { "commission_rate": null }, { "commission_rate": {} },
        ],
        amount: [
            { "commission_type": "fixed", "commission_rate": -1 },
            { "commission_type": "fixed", "commission_rate": "1e3" },
        ],
        months: [{ "duration_months": -1 }, { "duration_months": 121 }, { "duration_months": "12" }],
        days: [{ "cookie_duration": 0 }, { "cookie_duration": 366 }, { "cookie_duration": "60" }],
        "advertiser_id must be an integer": [{ "advertiser_id": "mine" }],
    });
    refused_each(400, refusals, |change| init(&stack, &token, change)).await;
    assert_eq!(stack.count("programs").await, 0);
}

/// Connects the processor of a program with a credential.
async fn connect(stack: &Stack, program_id: &Value, token: &str, change: Value) -> Answer {
    let body = json!({
        "program_id": program_id, "stripe_user_id": "acct_1", "webhook_endpoint_id": "we_1", "webhook_secret": SECRET,
    });
    stack.submit(CONNECT, Some(token), body.with(change)).await
}

#[tokio::test]
async fn a_processor_is_connected_with_the_programs_key_or_by_who_may_change_it() {
    let (stack, acme) = Stack::with_workspace().await;
    let token = connected(&stack, &acme).await;
    let (id, key) = shop(&stack, &token).await;
    let by_key = connect(&stack, &id, &key, json!({})).await;
    assert_eq!(
        by_key.body,
        json!({ "connected": true, "stripe_account_id": "acct_1", "webhook_endpoint_id": "we_1",
                "charges_enabled": false, "payouts_enabled": false })
    );
    let status = stack.get("/api/v1/cli/status", &key).await;
    assert_eq!(status.data()["stripe_connected"], true);
    let thiefs = json!({ "webhook_secret": "whsec_of_a_thief_0001" });
    let replaced = connect(&stack, &id, &key, thiefs).await;
    replaced.refused(403, "The program has a connection already: sign in to change it");
    let number: i64 = id.as_str().unwrap().parse().unwrap();
    let changed = json!({ "program_id": number, "stripe_user_id": "acct_2" });
    let by_session = connect(&stack, &id, &token, changed).await;
    assert_eq!(by_session.body["stripe_account_id"], "acct_2");
    let query = "SELECT actor FROM audit_log WHERE action = 'processor_connection.updated' ORDER BY id";
    let actors: Vec<String> = stack.values(query).await;
    assert_eq!(actors, ["program", "user"]);
    assert!(!rows::text_of_all_rows(&stack).await.contains("whsec"));
    acme.owner.delete(&format!("{PROGRAMS}/{number}")).await.ok();
    let archived = connect(&stack, &id, &token, json!({})).await;
    archived.refused(409, "This program is archived");
}

#[tokio::test]
async fn a_processor_of_another_program_or_half_a_connection_is_refused() {
    let (stack, acme) = Stack::with_workspace().await;
    let rival = stack.workspace("rival").await;
    let (token, theirs) = (connected(&stack, &acme).await, connected(&stack, &rival).await);
    let (id, _) = shop(&stack, &token).await;
    let (_, foreign_key) = shop(&stack, &theirs).await;
    let unknown = ProgramToken::generate([1; 32]);
    for (token, status, message) in [
        (foreign_key.as_str(), 403, "program_id does not match the API key"),
        // The sessions of another command line and of the dashboard.
        (&theirs, 403, "You do not have access to this resource"),
        (&acme.owner.token, 401, "This credential is not accepted here"),
        (unknown.expose(), 401, "Invalid API token"),
        ("", 401, "Missing or invalid credentials"),
    ] {
        let refused = connect(&stack, &id, token, json!({})).await;
        refused.refused(status, message);
    }
    let refusals = json!({
        "program_id must be an integer": [{ "program_id": null }],
        "stripe_user_id is required": [{ "stripe_user_id": "" }],
        "webhook_endpoint_id is required": [{ "webhook_endpoint_id": null }],
        "webhook_secret must be a string": [{ "webhook_secret": 5 }],
        "webhook_secret must have 16 to 255 visible ASCII characters": [{ "webhook_secret": "short" }],
    });
    refused_each(400, refusals, |change| connect(&stack, &id, &token, change)).await;
    let unknown = connect(&stack, &json!(999), &token, json!({})).await;
    unknown.refused(404, "Program not found");
    assert_eq!(stack.count("processor_connections").await, 0);
}

#[tokio::test]
async fn a_command_lines_login_of_long_ago_replaces_no_connection() {
    let stack = Stack::at_noon().await;
    let acme = stack.workspace("acme").await;
    let token = connected(&stack, &acme).await;
    let (id, _) = shop(&stack, &token).await;
    stack.clock.advance(TimeDelta::minutes(31));
    connect(&stack, &id, &token, json!({})).await.ok();
    let thiefs = json!({ "webhook_secret": "whsec_of_a_thief_0001" });
    let replaced = connect(&stack, &id, &token, thiefs).await;
    replaced.forbidden("PASSWORD_REQUIRED");
}
