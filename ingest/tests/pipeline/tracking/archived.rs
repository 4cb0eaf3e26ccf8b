//! An archived program takes no new sales, and its sales can still be refunded.

use runtime::clock::Clock;
use serde_json::{Value, json};
use test_harness::{
    Program, Stack,
    hooks::{Hooks, accepted, connect, event, settled},
    rows::{commission, sale},
    sale_of,
};

async fn archive(stack: &Stack, program: &Program) {
    let owner = stack.owner_of(program).await;
    owner.delete(&program.path("")).await.ok();
}

#[tokio::test]
async fn an_archived_program_takes_no_new_sales_and_what_it_sold_can_be_refunded() {
    let (stack, hooks, program) = Hooks::with_customer().await;
    // Asserts the reason with which an event is done.
    let ends = async |event: &Value, reason: Option<&str>| {
        hooks.process(&stack, &program, event).await;
        let id = event["id"].as_str().unwrap();
        let query = format!("SELECT reason FROM processor_events WHERE processor_event_id = '{id}'");
        assert_eq!(
            stack.value::<Option<String>>(&query).await.as_deref(),
            reason,
            "{event}"
        );
    };
    stack.sold(&program, sale_of("t1", "user-1")).await;
    let paid = event(&stack, "checkout.session.completed.acacia", &program, "user-1");
    ends(&paid, None).await;
    archive(&stack, &program).await;

    stack.sale(&program, sale_of("t2", "user-1")).await.is(401);
    for (name, paid_before) in [("invoice.paid.acacia", 0), ("invoice.paid.renewal.basil", 3600)] {
        let mut late = event(&stack, name, &program, "user-1");
        late["id"] = json!(name);
        late["created"] = json!(stack.clock.now().timestamp() - paid_before);
        ends(&late, Some("program_archived")).await;
    }
    assert_eq!(stack.count("sale_events").await, 2);

    let refund = stack.refund(&program, json!({ "transaction_id": "t1" })).await;
    assert_eq!(refund.body["status"], "reversed", "{refund:?}");
    let taken_back = event(&stack, "charge.refunded.acacia", &program, "user-1");
    ends(&taken_back, None).await;
    assert_eq!(commission(&stack, "pi_3Lamp0001").await["status"], "refunded");
    stack.verify().await;
}

#[tokio::test]
async fn a_program_that_is_archived_is_none_of_its_accounts_any_more() {
    let (stack, hooks) = Hooks::with_stack(Clock::system()).await;
    let (former, program) = (stack.program().await, stack.program().await);
    for bound in [&former, &program] {
        connect(&stack, bound.program_id, "acct_1Shop", None).await;
        stack.customer(bound, &bound.ada.code, "user-1").await;
    }
    archive(&stack, &former).await;
    let mut paid = event(&stack, "checkout.session.completed.basil", &program, "user-1");
    paid["account"] = json!("acct_1Shop");
    paid["data"]["object"]["metadata"] = json!({ "tracker_customer_key": "user-1" });
    accepted(&hooks.distribute(&stack, &paid).await);
    settled(&stack, &["done"]).await;
    let sale = sale(&stack, "pi_3Lamp0001").await;
    assert_eq!(sale["program_id"], program.program_id.get());
    stack.verify().await;
}
