//! A refund of a commission that was paid out: both sides are notified of it with its reason.

use serde_json::{Value, json};
use test_harness::{Json, Stack, pay_out, refund_of, rows, sale_of};

#[tokio::test]
async fn reversing_a_paid_commission_may_make_the_balance_negative_with_a_warning() {
    let (stack, program) = Stack::with_customer().await;
    stack.sold(&program, sale_of("t1", "user-1")).await;
    pay_out(&stack, &program, "t1").await;
    assert_eq!(stack.balance(program.ada.membership).await, 0);
    let half = refund_of("t1", 2_500).with(json!({ "refund_reason": "fraud" }));
    let answer = stack.refunded(&program, half).await;
    answer
        .body
        .has(json!({ "status": "refunded", "deductionAmount": 5.0 }));
    assert_eq!(stack.balance(program.ada.membership).await, -500);
    assert!(rows::commission(&stack, "t1").await["paid_at"].is_string());

    stack.reaches("notifications", 2).await;
    let query = "SELECT to_jsonb(n) FROM notifications n ORDER BY recipient";
    let sent: Vec<Value> = stack.values(query).await;
    sent[0].has(json!({ "recipient": "advertiser", "program_id": program.program_id, "partner_id": null }));
    sent[1].has(json!({ "recipient": "partner", "partner_id": program.ada.partner_id }));
    for notification in sent {
        let message = notification["message"].as_str().unwrap();
        for part in ["5.00 USD", "fraud"] {
            assert!(message.contains(part), "{message}");
        }
        assert_eq!(notification["details"]["deducted"], 500);
    }
    // Later earnings pay off the debt.
    stack.sold(&program, sale_of("t2", "user-1")).await;
    assert_eq!(stack.balance(program.ada.membership).await, 500);
    stack.verify().await;
}
