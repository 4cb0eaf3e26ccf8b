//! When pending commissions become payable.

use serde_json::json;
use test_harness::{Json, refund_of, rows, sell};

use super::Scene;

/// No commission is counted twice: a payable commission is not also due later.
#[tokio::test]
async fn what_is_pending_says_when_it_can_be_paid() {
    let scene = Scene::set().await;
    let Scene { stack, shop, .. } = &scene;
    stack.customer(shop, &shop.ada.code, "user-1").await;
    for transaction_id in ["t1", "t2", "t3", "t4"] {
        sell(stack, shop, transaction_id, 10_000, json!({})).await;
    }
    for transaction_id in ["t3", "t4"] {
        stack.refunded(shop, refund_of(transaction_id, 5_000)).await;
    }
    let set = async |transaction_id: &str, assignment: &str| {
        let statement = format!(
            "UPDATE commissions SET {assignment}
                 WHERE sale_id = (SELECT id FROM sale_events WHERE processor_event_id = '{transaction_id}')"
        );
        stack.execute(&statement).await;
    };
    for transaction_id in ["t1", "t2", "t3", "t4"] {
        set(
            transaction_id,
            "hold_until = '2100-01-02T12:00:00Z', signals = '{}'",
        )
        .await;
    }
    set("t2", "hold_until = '2100-01-01T00:00:00Z'").await;
    set("t3", "hold_until = '2020-01-01T00:00:00Z'").await;
    let balance = async || scene.list(&scene.ada, "balances").await.remove(0);
    let (first, second) = (json!("2100-01-01"), json!("2100-01-02"));
    let by_itself = balance().await;
    by_itself.has(json!({ "approved_cents": 1_000, "pending_cents": 5_000 }));
    assert_eq!(
        by_itself["dues"],
        json!([{ "day": first, "amount_cents": 2_000 }, { "day": second, "amount_cents": 3_000 }])
    );
    // A partner must not see that the commission is flagged.
    set("t1", "signals = '{fast_sale}'").await;
    rows::set(stack, shop, "needs_approval = 'flagged'").await;
    assert_eq!(balance().await["dues"], by_itself["dues"]);
    set("t1", "hold_until = '2020-01-01T00:00:00Z'").await;
    assert_eq!(
        balance().await["dues"],
        json!([
            { "day": first, "amount_cents": 2_000 }, { "day": second, "amount_cents": 1_000 }, { "day": null, "amount_cents": 2_000 },
        ])
    );
    rows::set(stack, shop, "needs_approval = 'all'").await;
    let by_hand = balance().await;
    by_hand.has(json!({ "dues": [{ "day": null, "amount_cents": 6_000 }], "approved_cents": 0 }));
}
