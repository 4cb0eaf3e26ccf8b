//! A processor's account belongs to one workspace. The platform's events reach only programs whose account an
//! operator has confirmed.

use serde_json::{Value, json};
use test_harness::hooks::{Hooks, accepted, event, inbox, settled};
use test_harness::managed::{Managed, audit_actions, audit_details};
use test_harness::{Answer, Json, Program, Stack, ctl, statuses, succeeds};

const SECRET: &str = "whsec_of_this_program_1111";
const HELD: &str = "This account is connected by another workspace";
const CONNECTION: &str = "processor-connection";

/// A program `Shop` of a new workspace.
async fn shop_of(stack: &Stack, workspace: &str) -> Managed {
    Managed::new(stack, &stack.workspace(workspace).await, "Shop").await
}

async fn bind(stack: &Stack, program: &Managed, account: &str) -> Answer {
    let body = json!({ "account_id": account, "status": "connected", "webhook_secret": SECRET });
    program.put(stack, CONNECTION, body).await
}

async fn is_confirmed(stack: &Stack, program: &Managed) -> bool {
    program.get(stack, CONNECTION).await.data()["confirmed"] == true
}

/// The messages of the program's notices of this kind, newest first.
async fn notices(stack: &Stack, program: &Managed, kind: &str) -> Vec<String> {
    let shown = program.get(stack, "notifications").await;
    let all = shown.data().as_array().unwrap().iter();
    let of_kind = all.filter(|one| one["kind"] == kind);
    of_kind
        .map(|one| one["message"].as_str().unwrap().to_owned())
        .collect()
}

#[tokio::test]
async fn an_account_that_another_workspace_holds_is_refused_and_its_owners_hear_of_it() {
    let (stack, acme) = Stack::with_workspace().await;
    let shop = Managed::new(&stack, &acme, "Shop").await;
    let other_shop = Managed::new(&stack, &acme, "Other").await;
    let theirs = shop_of(&stack, "rival").await;
    bind(&stack, &shop, "acct_1").await.ok();
    for _ in 0..2 {
        bind(&stack, &theirs, "acct_1").await.refused(409, HELD);
    }
    theirs.get(&stack, CONNECTION).await.is(404);
    // An existing connection cannot change to the account either.
    bind(&stack, &theirs, "acct_2").await.ok();
    bind(&stack, &theirs, "acct_1").await.refused(409, HELD);
    let shown = theirs.get(&stack, CONNECTION).await;
    assert_eq!(shown.data()["account_id"], "acct_2");
    let notices = notices(&stack, &shop, "processor_account_claimed").await;
    assert_eq!(notices.len(), 1, "each day one of a program: {notices:?}");
    assert!(
        notices[0].contains("acct_1") && !notices[0].contains("rival"),
        "{notices:?}"
    );
    let query = "SELECT program_id FROM audit_log WHERE action = 'processor_connection.claim_refused'";
    let refused: Vec<i64> = stack.values(query).await;
    assert_eq!(refused, [theirs.id; 3]);
    for details in audit_details(&stack, "processor_connection.claim_refused").await {
        assert_eq!(details["account_id"], "acct_1");
    }
    // Another program of the same workspace may use the account. A disconnected program no longer holds it.
    bind(&stack, &other_shop, "acct_1").await.ok();
    for program in [shop, other_shop] {
        program.delete(&stack, CONNECTION).await.is(204);
    }
    bind(&stack, &theirs, "acct_1").await.ok();
}

#[tokio::test]
async fn a_command_lines_claim_of_anothers_account_is_refused_too() {
    let (stack, shop) = Stack::with_managed().await;
    bind(&stack, &shop, "acct_1").await.ok();
    let theirs = stack.program().await;
    let body = json!({
        "program_id": theirs.program_id, "stripe_user_id": "acct_1", "webhook_endpoint_id": "we_1",
        "webhook_secret": SECRET,
    });
    let token = Some(theirs.token.as_str());
    let claim = stack.submit("/api/v1/cli/stripe-connect", token, body).await;
    claim.refused(409, HELD);
    assert_eq!(notices(&stack, &shop, "processor_account_claimed").await.len(), 1);
}

#[tokio::test]
async fn of_two_workspaces_that_claim_an_account_at_once_one_gets_it() {
    let (stack, ours) = Stack::with_managed().await;
    let theirs = shop_of(&stack, "rival").await;
    for round in 0..8 {
        let account = format!("acct_{round}");
        let (one, other) = tokio::join!(bind(&stack, &ours, &account), bind(&stack, &theirs, &account));
        assert_eq!(statuses([one, other]), [200, 409], "round {round}");
    }
}

/// An event of the account, as the platform reports it.
fn of_account(stack: &Stack, name: &str, program: &Program) -> Value {
    event(stack, name, program, "user-1").with(json!({ "account": "acct_1Shop" }))
}

fn payment(stack: &Stack, program: &Program) -> Value {
    of_account(stack, "checkout.session.completed.basil", program)
}

/// A program with a customer, which its owner has bound to the account, and a webhook consumer.
async fn bound() -> (Stack, Hooks, Managed, Program) {
    let mut stack = Stack::start().await;
    let hooks = Hooks::start(&mut stack).await;
    let program = stack.program().await;
    stack.customer(&program, &program.ada.code, "user-1").await;
    let managed = Managed {
        id: program.program_id.get(),
        api_token: program.token.clone(),
        owner: stack.owner_of(&program).await,
    };
    bind(&stack, &managed, "acct_1Shop").await.ok();
    (stack, hooks, managed, program)
}

/// The relay takes up waiting events at once.
async fn hurry_the_relay(stack: &Stack) {
    let overdue =
        "UPDATE processor_events SET relay_after = now() - interval '1 second' WHERE state = 'parked'";
    stack.execute(overdue).await;
}

async fn state(stack: &Stack) -> Value {
    inbox(stack).await.pop().unwrap()
}

#[tokio::test]
async fn the_platforms_events_reach_a_program_once_an_operator_has_confirmed_its_account() {
    let (stack, hooks, managed, program) = bound().await;
    assert!(!is_confirmed(&stack, &managed).await);
    accepted(&hooks.distribute(&stack, &payment(&stack, &program)).await);
    state(&stack)
        .await
        .has(json!({ "program": null, "state": "stuck" }));
    let event_id: String = stack.value("SELECT event_id::text FROM processor_events").await;
    let replay = ["processor-events", "replay", &event_id];
    let early = ctl(&stack, &replay).await;
    assert!(!early.ok, "replayed for a program that has not proved it");

    let number = managed.id.to_string();
    let listed = succeeds(&stack, &["processor-connection", "list", "--unconfirmed"]).await;
    assert!(
        listed.out.contains("acct_1Shop") && listed.out.contains(&number),
        "{listed:?}"
    );
    let of_account = |verb, account| ["processor-connection", verb, "--program-id", &number, account];
    let other = ctl(&stack, &of_account("confirm", "acct_other")).await;
    assert!(!other.ok && other.err.contains("acct_1Shop"), "{other:?}");
    succeeds(&stack, &of_account("confirm", "acct_1Shop")).await;
    assert!(is_confirmed(&stack, &managed).await);
    succeeds(&stack, &replay).await;
    settled(&stack, &["done"]).await;
    assert_eq!(stack.count("sale_events").await, 1);

    // Other changes keep the confirmation; a new account needs another confirmation.
    let put = async |body: Value| managed.put(&stack, CONNECTION, body).await.ok();
    put(json!({ "payouts_enabled": true })).await;
    assert!(is_confirmed(&stack, &managed).await);
    for account in ["acct_another", "acct_1Shop"] {
        put(json!({ "account_id": account })).await;
        assert!(!is_confirmed(&stack, &managed).await);
    }
    let refuse = [&of_account("refuse", "acct_1Shop")[..], &["--yes"]].concat();
    succeeds(&stack, &refuse).await;
    managed.get(&stack, CONNECTION).await.is(404);
    let by_operator = "actor = 'operator' AND action LIKE 'processor_connection.%'";
    assert_eq!(
        audit_actions(&stack, by_operator).await,
        ["processor_connection.confirmed", "processor_connection.refused"]
    );
    stack.verify().await;
}

#[tokio::test]
async fn a_programs_own_endpoint_needs_no_confirmation() {
    let (stack, hooks, managed, program) = bound().await;
    assert!(!is_confirmed(&stack, &managed).await);
    // With and without the account in the event. The relay also retries the waiting event.
    let paid = payment(&stack, &program);
    let mut early = of_account(&stack, "charge.refunded.basil", &program);
    early["data"]["object"]["id"] = json!("ch_unknown");
    early["data"]["object"]["payment_intent"] = json!("pi_unknown");
    for event in [&paid, &early] {
        accepted(&hooks.deliver(&stack, &program, event).await);
    }
    settled(&stack, &["done", "parked"]).await;
    hurry_the_relay(&stack).await;
    stack
        .reaches("processor_events WHERE relay_after < now()", 0)
        .await;
    settled(&stack, &["done", "parked"]).await;
    assert_eq!(stack.count("sale_events").await, 1);
}

#[tokio::test]
async fn the_platforms_events_reach_no_connection_that_is_not_connected() {
    let (stack, hooks, managed, program) = bound().await;
    let statement = "UPDATE processor_connections SET confirmed_at = now()";
    stack.execute(statement).await;
    // A refund waits for its unknown sale. The relay checks again whether the program still receives events.
    let early = of_account(&stack, "charge.refunded.basil", &program);
    accepted(&hooks.distribute(&stack, &early).await);
    settled(&stack, &["parked"]).await;
    for status in ["pending", "disconnected"] {
        managed
            .put(&stack, CONNECTION, json!({ "status": status }))
            .await
            .ok();
        let paid = payment(&stack, &program).with(json!({ "id": format!("evt_while_{status}") }));
        accepted(&hooks.distribute(&stack, &paid).await);
        assert_eq!(state(&stack).await["reason"], "unknown account", "{status}");
    }
    hurry_the_relay(&stack).await;
    settled(&stack, &["stuck"]).await;
    let query = "SELECT reason FROM processor_events WHERE program_id IS NOT NULL";
    let reason: String = stack.value(query).await;
    assert_eq!(
        reason,
        "its program's connection receives no events of the platform"
    );
    assert_eq!(stack.count("sale_events").await, 0);
}

#[tokio::test]
async fn owners_hear_of_every_change_of_account_or_secret() {
    let (stack, shop) = Stack::with_managed().await;
    let put = async |body: Value| shop.put(&stack, CONNECTION, body).await.ok();
    let messages = async || notices(&stack, &shop, "processor_connection_changed").await;
    bind(&stack, &shop, "acct_1").await.ok();
    put(json!({ "payouts_enabled": true })).await;
    assert_eq!(messages().await.len(), 1);
    put(json!({ "account_id": "acct_2" })).await;
    put(json!({ "webhook_secret": "whsec_another_of_this_0002" })).await;
    let rotated = json!({ "webhook_secret": "whsec_another_of_this_0003" });
    shop.submit(&stack, "processor-connection/rotate-secret", rotated)
        .await
        .ok();
    shop.delete(&stack, CONNECTION).await.is(204);
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
    let (stack, hooks, managed, program) = bound().await;
    let set = async |status: &str| {
        managed
            .put(&stack, CONNECTION, json!({ "status": status }))
            .await
            .ok()
    };
    let paid = payment(&stack, &program);
    set("disconnected").await;
    hooks.deliver(&stack, &program, &paid).await.is(400);
    assert!(inbox(&stack).await.is_empty());
    // The processor sends the event again after the owner has reconnected.
    set("connected").await;
    accepted(&hooks.deliver(&stack, &program, &paid).await);
    settled(&stack, &["done"]).await;
    stack.verify().await;
}

#[tokio::test]
async fn another_account_starts_without_the_secret_of_the_one_before() {
    let (stack, hooks, managed, program) = bound().await;
    let changed = managed
        .put(&stack, CONNECTION, json!({ "account_id": "acct_1Other" }))
        .await;
    assert_eq!(changed.data()["webhook_secret_set"], false);
    let refused = hooks.deliver(&stack, &program, &payment(&stack, &program)).await;
    refused.is(400);
    assert!(inbox(&stack).await.is_empty());
}
