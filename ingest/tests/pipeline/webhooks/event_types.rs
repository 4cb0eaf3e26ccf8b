//! Which event types the program's endpoint at the processor does not receive.

use serde_json::{Value, json};
use test_harness::{
    Program, Stack,
    hooks::{Hooks, accepted, event, settled},
};

async fn status(stack: &Stack, program: &Program) -> Value {
    let status = stack.get("/api/v1/cli/status", &program.token).await;
    status.data()["stripe_events"].clone()
}

fn lacks(events: &Value, kind: &str) -> bool {
    let never = events["never_received"].as_array().unwrap();
    never.contains(&json!(kind))
}

#[tokio::test]
async fn status_names_the_event_types_that_an_endpoint_lacks() {
    let (stack, hooks, program) = Hooks::with_customer().await;
    let deliver = async |name: &str| {
        let event = event(&stack, name, &program, "user-1");
        accepted(&hooks.deliver(&stack, &program, &event).await);
    };

    let mut of_test_mode = event(&stack, "invoice.paid.basil", &program, "user-1");
    of_test_mode["livemode"] = json!(false);
    accepted(&hooks.deliver(&stack, &program, &of_test_mode).await);
    let nothing = status(&stack, &program).await;
    assert_eq!(nothing["never_received"].as_array().unwrap().len(), 15);
    assert_eq!(nothing["warnings"], json!([]));

    deliver("invoice.paid.basil").await;
    let lacking = status(&stack, &program).await;
    assert!(!lacks(&lacking, "invoice.paid") && lacks(&lacking, "invoice_payment.paid"));
    let warnings = lacking["warnings"].as_array().unwrap();
    assert_eq!(warnings.len(), 1);
    assert!(warnings[0].as_str().unwrap().contains("no invoice_payment.paid"));
    let owner = stack.owner_of(&program).await;
    let health = owner.get(&program.path("processor-connection/health")).await;
    let missing = json!([{ "kind": "invoice_payment.paid", "message": warnings[0] }]);
    assert_eq!(health.body["data"]["missing_event_types"], missing, "{health:?}");

    deliver("invoice_payment.paid.basil").await;
    settled(&stack, &["done"]).await;
    let complete = status(&stack, &program).await;
    assert!(!lacks(&complete, "invoice_payment.paid") && lacks(&complete, "charge.refunded"));
    assert_eq!(complete["warnings"], json!([]));

    let other = stack.program().await;
    assert_eq!(status(&stack, &other).await, Value::Null, "without an account");
}
