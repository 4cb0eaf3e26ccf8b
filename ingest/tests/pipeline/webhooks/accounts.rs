//! Which program an event belongs to.

use runtime::clock::Clock;
use serde_json::{Value, json};
use storage::processor::processor_inbox;
use test_harness::{
    Json, Program, Stack,
    hooks::{ACCOUNT, Hooks, SECRET, accepted, connect, connected, event, inbox, settled},
    rows::sale,
};

fn row(event: &Value, program: Option<&Program>, state: &str, reason: Option<&str>) -> Value {
    let program = program.map(|program| program.program_id.get());
    json!({ "event": event["id"], "program": program, "state": state, "reason": reason })
}

#[tokio::test]
async fn an_event_of_an_account_nobody_knows_is_kept_with_its_reason() {
    let (stack, hooks, program) = Hooks::with_program().await;
    let mut event = event(&stack, "checkout.session.completed.basil", &program, "user-1");
    for (id, account) in [("evt_a", json!("acct_nobody")), ("evt_b", Value::Null)] {
        event["id"] = json!(id);
        event["account"] = account;
        accepted(&hooks.distribute(&stack, &event).await);
        let kept = inbox(&stack).await;
        assert_eq!(
            kept.last().unwrap(),
            &row(&event, None, "stuck", Some("unknown account"))
        );
    }
    assert_eq!(stack.count("transaction_claims").await, 0);
}

/// Replays as `ctl processor-events replay` does.
async fn replay(stack: &Stack) {
    let event_id = stack.value("SELECT event_id FROM processor_events").await;
    let mut connection = stack.pool().acquire().await.unwrap();
    assert!(processor_inbox::replay(&mut connection, event_id).await.unwrap());
}

#[tokio::test]
async fn an_event_is_taken_up_again_once_its_account_is_known() {
    let (stack, hooks) = Hooks::with_stack(Clock::system()).await;
    let program = stack.program_with_customer().await;
    let mut event = event(&stack, "checkout.session.completed.basil", &program, "user-1");
    event["account"] = json!(ACCOUNT);
    accepted(&hooks.distribute(&stack, &event).await);
    assert_eq!(
        inbox(&stack).await,
        [row(&event, None, "stuck", Some("unknown account"))]
    );
    connect(&stack, program.program_id, ACCOUNT, None).await;
    replay(&stack).await;
    settled(&stack, &["done"]).await;
    assert_eq!(sale(&stack, "pi_3Lamp0001").await["amount_cents"], 4900);
    stack.verify().await;
}

#[tokio::test]
async fn a_sale_that_names_another_program_is_kept_back() {
    let (stack, hooks) = Hooks::with_stack(Clock::system()).await;
    let (program, other) = (connected(&stack).await, stack.program().await);
    stack.customer(&other, &other.ada.code, "user-1").await;
    let named = event(&stack, "checkout.session.completed.basil", &other, "user-1");
    accepted(&hooks.deliver(&stack, &program, &named).await);
    let reason = Some("it names another program");
    assert_eq!(
        inbox(&stack).await,
        [row(&named, Some(&program), "stuck", reason)]
    );
    assert_eq!(stack.count("sale_events").await, 0);
    // The merchant, who sets the metadata, sees the event among the program's payments.
    let owner = stack.owner_of(&program).await;
    let health = owner.get(&program.path("processor-connection/health")).await;
    let shown = &health.data()["unresolved_events"];
    assert_eq!(shown.as_array().unwrap().len(), 1, "{health:?}");
    shown[0].has(json!({
        "processor_event_id": named["id"], "kind": "checkout.session.completed", "state": "stuck",
        "reason": reason,
    }));
}

#[tokio::test]
async fn an_event_of_another_account_is_kept_back_at_a_programs_own_endpoint() {
    let (stack, hooks, program) = Hooks::with_program().await;
    let left = "account.application.deauthorized.basil";
    let mut foreign = event(&stack, left, &program, "user-1");
    foreign["account"] = json!("acct_another");
    accepted(&hooks.deliver(&stack, &program, &foreign).await);
    let reason = Some("it is of another account than the program's");
    let kept = [row(&foreign, Some(&program), "stuck", reason)];
    assert_eq!(inbox(&stack).await, kept);
    // A replay does not assign the event to the program.
    replay(&stack).await;
    settled(&stack, &["stuck"]).await;
    assert_eq!(inbox(&stack).await, kept);
    let status: String = stack.value("SELECT status FROM processor_connections").await;
    assert_eq!(status, "connected");
}

#[tokio::test]
async fn of_several_programs_of_an_account_the_one_that_is_named_gets_the_sale() {
    let (stack, hooks) = Hooks::with_stack(Clock::system()).await;
    let (one, other) = (connected(&stack).await, stack.program().await);
    connect(&stack, other.program_id, ACCOUNT, Some(SECRET)).await;
    stack.customer(&other, &other.ada.code, "user-1").await;
    let mut named = event(&stack, "checkout.session.completed.basil", &other, "user-1");
    named["account"] = json!(ACCOUNT);
    accepted(&hooks.distribute(&stack, &named).await);
    settled(&stack, &["done"]).await;
    assert_eq!(inbox(&stack).await, [row(&named, Some(&other), "done", None)]);
    assert_eq!(
        sale(&stack, "pi_3Lamp0001").await["program_id"],
        other.program_id.get()
    );
    // The event names no program: it waits for an operator, and both programs see the payment's id.
    let name = "checkout.session.completed.with_invoice.basil";
    let mut unnamed = event(&stack, name, &other, "user-1");
    unnamed["account"] = json!(ACCOUNT);
    let metadata = unnamed["data"]["object"]["metadata"].as_object_mut().unwrap();
    metadata.remove("program_id");
    accepted(&hooks.distribute(&stack, &unnamed).await);
    settled(&stack, &["done", "stuck"]).await;
    let reason = Some("it names no program, and its account has several");
    let kept = inbox(&stack).await;
    assert_eq!(
        kept[1..],
        [
            row(&unnamed, Some(&one), "done", None),
            row(&unnamed, Some(&other), "done", None),
            row(&unnamed, None, "stuck", reason),
        ]
    );
    assert_eq!(stack.count("sale_events").await, 1);
    stack.verify().await;
}

#[tokio::test]
async fn the_program_that_knows_the_processors_customer_gets_the_sale_of_a_shared_account() {
    let (stack, hooks) = Hooks::with_stack(Clock::system()).await;
    let (one, other) = (connected(&stack).await, stack.program().await);
    connect(&stack, other.program_id, ACCOUNT, Some(SECRET)).await;
    stack.customer(&other, &other.ada.code, "user-1").await;
    let knows = async |program: &Program| {
        stack
            .execute(&format!(
                "INSERT INTO processor_customers (program_id, processor_customer_id, customer_key)
                 VALUES ({}, 'cus_1', 'user-1')",
                program.program_id
            ))
            .await;
    };
    let renewal = |id: &str| {
        let invoice = json!({
            "id": format!("in_{id}"), "object": "invoice", "amount_paid": 4900, "total": 4900, "currency": "usd",
            "billing_reason": "manual", "customer": "cus_1", "metadata": {}, "lines": { "data": [] },
        });
        json!({
            "id": format!("evt_{id}"), "object": "event", "type": "invoice.paid", "livemode": true, "account": ACCOUNT,
            "created": stack.clock.now().timestamp() + 60, "data": { "object": invoice },
        })
    };
    let reported = async |id: &str, states: &[&str]| {
        accepted(&hooks.distribute(&stack, &renewal(id)).await);
        settled(&stack, states).await;
    };
    let before = Some("it names neither program nor customer, and its account has several");
    reported("1", &["ignored"]).await;
    assert_eq!(inbox(&stack).await, [row(&renewal("1"), None, "ignored", before)]);
    knows(&other).await;
    reported("2", &["ignored", "done"]).await;
    assert_eq!(
        inbox(&stack).await[1],
        row(&renewal("2"), Some(&other), "done", None)
    );
    assert_eq!(sale(&stack, "in_2").await["program_id"], other.program_id.get());
    // The owner is ambiguous once both programs know the customer.
    knows(&one).await;
    reported("3", &["ignored", "done"]).await;
    assert_eq!(stack.count("sale_events").await, 1);
    stack.verify().await;
}

#[tokio::test]
async fn an_account_of_one_program_needs_no_program_id() {
    let (stack, hooks, program) = Hooks::with_customer().await;
    let mut event = event(&stack, "invoice.paid.basil", &program, "user-1");
    event["account"] = json!(ACCOUNT);
    let text = event.to_string().replace("\"program_id\"", "\"other_id\"");
    let event: Value = serde_json::from_str(&text).unwrap();
    accepted(&hooks.distribute(&stack, &event).await);
    settled(&stack, &["done"]).await;
    assert_eq!(
        sale(&stack, "in_1First01").await["program_id"],
        program.program_id.get()
    );
    stack.verify().await;
}
