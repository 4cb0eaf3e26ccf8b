//! An archived program takes no new sales, and its sales can still be refunded.

use reqwest::StatusCode;
use serde_json::{Value, json};
use test_harness::{
    Program, Stack,
    hooks::{Hooks, accepted, connect, event, settled},
    rows::{commission, sale},
    sale_of,
};

async fn archive(stack: &Stack, program: &Program) {
    let owner = stack.owner_of(program).await;
    let path = format!("/api/advertiser/affiliate-programs/{}", program.program_id);
    let archived = stack.delete(&path, &owner.token).await;
    assert_eq!(archived.status, StatusCode::OK, "{archived:?}");
}

/// `(state, reason)` of an event.
async fn ended(stack: &Stack, event: &Value) -> (String, Option<String>) {
    settled(stack, &["done"]).await;
    sqlx::query_as("SELECT state, reason FROM processor_events WHERE processor_event_id = $1")
        .bind(event["id"].as_str())
        .fetch_one(stack.pool())
        .await
        .unwrap()
}

#[tokio::test]
async fn an_archived_program_takes_no_new_sales_and_what_it_sold_can_be_refunded() {
    let (stack, hooks, program) = Hooks::with_program().await;
    stack.customer(&program, &program.ada.code, "user-1").await;
    assert_eq!(
        stack.sale(&program, sale_of("t1", "user-1")).await.status,
        StatusCode::OK
    );
    let paid = event(&stack, "checkout.session.completed.acacia", &program, "user-1");
    accepted(&hooks.deliver(&stack, &program, &paid).await);
    assert_eq!(ended(&stack, &paid).await, ("done".to_owned(), None));
    archive(&stack, &program).await;

    let refused = stack.sale(&program, sale_of("t2", "user-1")).await;
    assert_eq!(refused.status, StatusCode::UNAUTHORIZED, "{refused:?}");
    for (name, paid_before) in [("invoice.paid.acacia", 0), ("invoice.paid.renewal.basil", 3600)] {
        let mut late = event(&stack, name, &program, "user-1");
        late["id"] = json!(name);
        late["created"] = json!(stack.clock.now().timestamp() - paid_before);
        accepted(&hooks.deliver(&stack, &program, &late).await);
        let reason = Some("program_archived".to_owned());
        assert_eq!(ended(&stack, &late).await, ("done".to_owned(), reason), "{name}");
    }
    assert_eq!(stack.count("sale_events").await, 2);

    let refund = stack.refund(&program, json!({ "transaction_id": "t1" })).await;
    assert_eq!(refund.body["status"], "reversed", "{refund:?}");
    let taken_back = event(&stack, "charge.refunded.acacia", &program, "user-1");
    accepted(&hooks.deliver(&stack, &program, &taken_back).await);
    assert_eq!(ended(&stack, &taken_back).await, ("done".to_owned(), None));
    assert_eq!(commission(&stack, "pi_3Lamp0001").await["status"], "refunded");
    stack.verify().await;
}

#[tokio::test]
async fn a_program_that_is_archived_is_none_of_its_accounts_any_more() {
    let mut stack = Stack::start().await;
    let hooks = Hooks::start(&mut stack).await;
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
    assert_eq!(
        sale(&stack, "pi_3Lamp0001").await["program_id"],
        json!(program.program_id.get())
    );
    stack.verify().await;
}
