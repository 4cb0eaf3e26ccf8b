//! A processor's account belongs to one workspace. The platform's events reach only programs whose account an
//! operator has confirmed.

use reqwest::StatusCode;
use serde_json::{Value, json};
use test_harness::{
    Answer, Person, Program, Stack, ctl,
    hooks::{Hooks, accepted, event, inbox, settled},
    succeeds,
};

const SECRET: &str = "whsec_of_this_program_1111";
const HELD: &str = "This account is connected by another workspace";

async fn program(stack: &Stack, owner: &Person) -> i64 {
    let body = json!({ "name": "Shop" });
    let made = stack
        .submit("/api/advertiser/affiliate-programs", Some(&owner.token), body)
        .await;
    made.body["data"]["id"].as_i64().unwrap()
}

fn path(program_id: i64) -> String {
    format!("/api/advertiser/affiliate-programs/{program_id}/processor-connection")
}

async fn bind(stack: &Stack, owner: &Person, program_id: i64, account: &str) -> Answer {
    let body = json!({ "account_id": account, "status": "connected", "webhook_secret": SECRET });
    stack.put(&path(program_id), &owner.token, body).await
}

async fn confirmed(stack: &Stack, owner: &Person, program_id: i64) -> Value {
    let shown = stack.get(&path(program_id), &owner.token).await;
    shown.body["data"]["confirmed"].clone()
}

async fn notices(stack: &Stack, owner: &Person, program_id: i64, kind: &str) -> Vec<Value> {
    let path = format!("/api/advertiser/affiliate-programs/{program_id}/notifications");
    let shown = stack.get(&path, &owner.token).await;
    let all = shown.body["data"].as_array().unwrap();
    all.iter().filter(|one| one["kind"] == kind).cloned().collect()
}

#[tokio::test]
async fn an_account_that_another_workspace_holds_is_refused_and_its_owners_hear_of_it() {
    let stack = Stack::start().await;
    let (acme, rival) = (
        stack.workspace("acme").await.owner,
        stack.workspace("rival").await.owner,
    );
    let (shop, other_shop) = (program(&stack, &acme).await, program(&stack, &acme).await);
    let theirs = program(&stack, &rival).await;
    assert_eq!(bind(&stack, &acme, shop, "acct_1").await.status, StatusCode::OK);
    for _ in 0..2 {
        let claim = bind(&stack, &rival, theirs, "acct_1").await;
        claim.refused(409, HELD);
    }
    assert_eq!(
        stack.get(&path(theirs), &rival.token).await.status,
        StatusCode::NOT_FOUND
    );
    // An existing connection cannot change to the account either.
    assert_eq!(
        bind(&stack, &rival, theirs, "acct_2").await.status,
        StatusCode::OK
    );
    let claim = bind(&stack, &rival, theirs, "acct_1").await;
    claim.refused(409, HELD);
    let shown = stack.get(&path(theirs), &rival.token).await;
    assert_eq!(shown.body["data"]["account_id"], "acct_2");
    let notices = notices(&stack, &acme, shop, "processor_account_claimed").await;
    assert_eq!(notices.len(), 1, "each day one of a program: {notices:?}");
    let message = notices[0]["message"].as_str().unwrap();
    assert!(
        message.contains("acct_1") && !message.contains("rival"),
        "{message}"
    );
    let audited: String = stack
        .value(
            "SELECT string_agg(program_id || ' ' || (details->>'account_id'), ', ') FROM audit_log
             WHERE action = 'processor_connection.claim_refused'",
        )
        .await;
    assert_eq!(
        audited,
        format!("{theirs} acct_1, {theirs} acct_1, {theirs} acct_1")
    );
    // Another program of the same workspace may use the account. A disconnected program no longer holds it.
    assert_eq!(
        bind(&stack, &acme, other_shop, "acct_1").await.status,
        StatusCode::OK
    );
    for id in [shop, other_shop] {
        stack.delete(&path(id), &acme.token).await;
    }
    assert_eq!(
        bind(&stack, &rival, theirs, "acct_1").await.status,
        StatusCode::OK
    );
}

#[tokio::test]
async fn a_command_lines_claim_of_anothers_account_is_refused_too() {
    let stack = Stack::start().await;
    let acme = stack.workspace("acme").await.owner;
    let shop = program(&stack, &acme).await;
    assert_eq!(bind(&stack, &acme, shop, "acct_1").await.status, StatusCode::OK);
    let theirs = stack.program().await;
    let body = json!({
        "program_id": theirs.program_id.get(), "stripe_user_id": "acct_1", "webhook_endpoint_id": "we_1", "webhook_secret": SECRET,
    });
    let claim = stack
        .submit("/api/v1/cli/stripe-connect", Some(&theirs.token), body)
        .await;
    claim.refused(409, HELD);
    assert_eq!(
        notices(&stack, &acme, shop, "processor_account_claimed")
            .await
            .len(),
        1
    );
}

#[tokio::test]
async fn of_two_workspaces_that_claim_an_account_at_once_one_gets_it() {
    let stack = Stack::start().await;
    let (acme, rival) = (
        stack.workspace("acme").await.owner,
        stack.workspace("rival").await.owner,
    );
    let (ours, theirs) = (program(&stack, &acme).await, program(&stack, &rival).await);
    for round in 0..8 {
        let account = format!("acct_{round}");
        let (one, other) = tokio::join!(
            bind(&stack, &acme, ours, &account),
            bind(&stack, &rival, theirs, &account)
        );
        let mut statuses = [one.status.as_u16(), other.status.as_u16()];
        statuses.sort_unstable();
        assert_eq!(statuses, [200, 409], "round {round}");
    }
}

/// A payment of the account, as the platform reports it.
fn payment(stack: &Stack, program: &Program) -> Value {
    let mut event = event(stack, "checkout.session.completed.basil", program, "user-1");
    event["account"] = json!("acct_1Shop");
    event
}

/// A program that its owner has bound to the account.
async fn bound(stack: &Stack) -> (Person, Program) {
    let program = stack.program().await;
    let acme = stack.owner_of(&program).await;
    stack.customer(&program, &program.ada.code, "user-1").await;
    let done = bind(stack, &acme, program.program_id.get(), "acct_1Shop").await;
    assert_eq!(done.status, StatusCode::OK);
    (acme, program)
}

async fn state(stack: &Stack) -> Value {
    inbox(stack).await.pop().unwrap()
}

#[tokio::test]
async fn the_platforms_events_reach_a_program_once_an_operator_has_confirmed_its_account() {
    let mut stack = Stack::start().await;
    let hooks = Hooks::start(&mut stack).await;
    let (acme, program) = bound(&stack).await;
    let id = program.program_id.get();
    assert_eq!(confirmed(&stack, &acme, id).await, false);
    let paid = payment(&stack, &program);
    accepted(&hooks.distribute(&stack, &paid).await);
    let kept = state(&stack).await;
    assert_eq!(
        (&kept["program"], &kept["state"]),
        (&Value::Null, &json!("stuck"))
    );
    let event_id: uuid::Uuid = stack.value("SELECT event_id FROM processor_events").await;
    let replay = ["processor-events", "replay", &event_id.to_string()].map(str::to_owned);
    let replay: Vec<&str> = replay.iter().map(String::as_str).collect();
    assert!(
        !ctl(&stack, &replay).await.ok,
        "replayed for a program that has not proved it"
    );

    let number = id.to_string();
    let listed = succeeds(&stack, &["processor-connection", "list", "--unconfirmed"]).await;
    assert!(
        listed.out.contains("acct_1Shop") && listed.out.contains(&number),
        "{listed:?}"
    );
    let of_account = |verb, account| ["processor-connection", verb, "--program-id", &number, account];
    let other = ctl(&stack, &of_account("confirm", "acct_other")).await;
    assert!(!other.ok && other.err.contains("acct_1Shop"), "{other:?}");
    succeeds(&stack, &of_account("confirm", "acct_1Shop")).await;
    assert_eq!(confirmed(&stack, &acme, id).await, true);
    succeeds(&stack, &replay).await;
    settled(&stack, &["done"]).await;
    assert_eq!(stack.count("sale_events").await, 1);

    // Other changes keep the confirmation; a new account needs another confirmation.
    let put = async |body: Value| stack.put(&path(id), &acme.token, body).await.status;
    assert_eq!(put(json!({ "payouts_enabled": true })).await, StatusCode::OK);
    assert_eq!(confirmed(&stack, &acme, id).await, true);
    for account in ["acct_another", "acct_1Shop"] {
        assert_eq!(put(json!({ "account_id": account })).await, StatusCode::OK);
        assert_eq!(confirmed(&stack, &acme, id).await, false);
    }
    succeeds(
        &stack,
        &[
            "processor-connection",
            "refuse",
            "--yes",
            "--program-id",
            &number,
            "acct_1Shop",
        ],
    )
    .await;
    assert_eq!(
        stack.get(&path(id), &acme.token).await.status,
        StatusCode::NOT_FOUND
    );
    let audited: String = stack
        .value("SELECT string_agg(action, ', ' ORDER BY id) FROM audit_log WHERE actor = 'operator' AND action LIKE 'processor_connection.%'")
        .await;
    assert_eq!(
        audited,
        "processor_connection.confirmed, processor_connection.refused"
    );
    stack.verify().await;
}

#[tokio::test]
async fn a_programs_own_endpoint_needs_no_confirmation() {
    let mut stack = Stack::start().await;
    let hooks = Hooks::start(&mut stack).await;
    let (acme, program) = bound(&stack).await;
    assert_eq!(confirmed(&stack, &acme, program.program_id.get()).await, false);
    // With and without the account in the event. The relay also retries the waiting event.
    let paid = payment(&stack, &program);
    let mut early = event(&stack, "charge.refunded.basil", &program, "user-1");
    early["account"] = json!("acct_1Shop");
    early["data"]["object"]["id"] = json!("ch_unknown");
    early["data"]["object"]["payment_intent"] = json!("pi_unknown");
    for event in [&paid, &early] {
        accepted(&hooks.deliver(&stack, &program, event).await);
    }
    settled(&stack, &["done", "parked"]).await;
    stack
        .execute(
            "UPDATE processor_events SET relay_after = now() - interval '1 second' WHERE state = 'parked'",
        )
        .await;
    stack
        .eventually("the relay has taken it up", async || {
            stack
                .value("SELECT count(*) = 0 FROM processor_events WHERE relay_after < now()")
                .await
        })
        .await;
    settled(&stack, &["done", "parked"]).await;
    assert_eq!(stack.count("sale_events").await, 1);
}

#[tokio::test]
async fn the_platforms_events_reach_no_connection_that_is_not_connected() {
    let mut stack = Stack::start().await;
    let hooks = Hooks::start(&mut stack).await;
    let (acme, program) = bound(&stack).await;
    let id = program.program_id.get();
    stack
        .execute("UPDATE processor_connections SET confirmed_at = now()")
        .await;
    // A refund waits for its unknown sale. The relay checks again whether the program still receives events.
    let mut early = event(&stack, "charge.refunded.basil", &program, "user-1");
    early["account"] = json!("acct_1Shop");
    accepted(&hooks.distribute(&stack, &early).await);
    settled(&stack, &["parked"]).await;
    for status in ["pending", "disconnected"] {
        let body = json!({ "status": status });
        stack.put(&path(id), &acme.token, body).await;
        let mut paid = payment(&stack, &program);
        paid["id"] = json!(format!("evt_while_{status}"));
        accepted(&hooks.distribute(&stack, &paid).await);
        assert_eq!(state(&stack).await["reason"], "unknown account", "{status}");
    }
    stack
        .execute(
            "UPDATE processor_events SET relay_after = now() - interval '1 second' WHERE state = 'parked'",
        )
        .await;
    settled(&stack, &["stuck"]).await;
    let reason: String = stack
        .value("SELECT reason FROM processor_events WHERE program_id IS NOT NULL")
        .await;
    assert_eq!(
        reason,
        "its program's connection receives no events of the platform"
    );
    assert_eq!(stack.count("sale_events").await, 0);
}

#[tokio::test]
async fn owners_hear_of_every_change_of_account_or_secret() {
    let stack = Stack::start().await;
    let acme = stack.workspace("acme").await.owner;
    let shop = program(&stack, &acme).await;
    let put = async |body: Value| stack.put(&path(shop), &acme.token, body).await.status;
    let messages = async || -> Vec<String> {
        let notices = notices(&stack, &acme, shop, "processor_connection_changed").await;
        notices
            .iter()
            .map(|one| one["message"].as_str().unwrap().to_owned())
            .collect()
    };
    assert_eq!(bind(&stack, &acme, shop, "acct_1").await.status, StatusCode::OK);
    assert_eq!(put(json!({ "payouts_enabled": true })).await, StatusCode::OK);
    assert_eq!(messages().await.len(), 1);
    assert_eq!(put(json!({ "account_id": "acct_2" })).await, StatusCode::OK);
    assert_eq!(
        put(json!({ "webhook_secret": "whsec_another_of_this_0002" })).await,
        StatusCode::OK
    );
    stack
        .submitted(
            &format!("{}/rotate-secret", path(shop)),
            Some(&acme.token),
            json!({ "webhook_secret": "whsec_another_of_this_0003" }),
        )
        .await;
    stack.delete(&path(shop), &acme.token).await;
    let messages = messages().await;
    let whats = [
        "its webhook secret was removed",
        "its webhook secret was rotated",
        "its webhook secret was set",
        "its account is acct_2",
        "its account is acct_1, its webhook secret was set",
    ];
    assert_eq!(messages.len(), whats.len(), "{messages:?}");
    for (message, what) in messages.iter().zip(whats) {
        assert!(
            message.contains(what) && !message.contains("whsec"),
            "{what}: {message}"
        );
    }
}

#[tokio::test]
async fn a_disconnected_connection_receives_nothing_at_its_own_endpoint() {
    let mut stack = Stack::start().await;
    let hooks = Hooks::start(&mut stack).await;
    let (acme, program) = bound(&stack).await;
    let id = program.program_id.get();
    let set = async |status: &str| {
        let done = stack
            .put(&path(id), &acme.token, json!({ "status": status }))
            .await;
        assert_eq!(done.status, StatusCode::OK);
    };
    let paid = payment(&stack, &program);
    set("disconnected").await;
    let refused = hooks.deliver(&stack, &program, &paid).await;
    assert_eq!(refused.status, StatusCode::BAD_REQUEST);
    assert!(inbox(&stack).await.is_empty());
    // The processor sends the event again after the owner has reconnected.
    set("connected").await;
    accepted(&hooks.deliver(&stack, &program, &paid).await);
    settled(&stack, &["done"]).await;
    stack.verify().await;
}

#[tokio::test]
async fn another_account_starts_without_the_secret_of_the_one_before() {
    let mut stack = Stack::start().await;
    let hooks = Hooks::start(&mut stack).await;
    let (acme, program) = bound(&stack).await;
    let id = program.program_id.get();
    let changed = stack
        .put(&path(id), &acme.token, json!({ "account_id": "acct_1Other" }))
        .await;
    assert_eq!(changed.body["data"]["webhook_secret_set"], false, "{changed:?}");
    let refused = hooks.deliver(&stack, &program, &payment(&stack, &program)).await;
    assert_eq!(refused.status, StatusCode::BAD_REQUEST);
    assert!(inbox(&stack).await.is_empty());
}
