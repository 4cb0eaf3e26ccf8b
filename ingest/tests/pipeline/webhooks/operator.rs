//! The inbox at the operator's command line, and in the report of `ctl verify`.

use serde_json::json;

use super::shop::Shop;
use test_harness::{Json, Program, ctl, rows, sale_of, succeeds};

/// An event whose payload does not match its type.
async fn stuck(shop: &Shop, program: &Program) -> String {
    let mut event = shop.payment("1").checkout();
    event["data"]["object"]["currency"] = json!("dollars");
    shop.process(program, &event).await;
    let id: uuid::Uuid = shop.stack.value("SELECT event_id FROM processor_events").await;
    id.to_string()
}

#[tokio::test]
async fn what_is_stuck_is_listed_shown_and_replayed() {
    let (shop, program) = Shop::selling().await;
    let events = async |line: &str| ctl(&shop.stack, &format!("processor-events {line}")).await;
    events("list").await.says("no processor events");
    let id = stuck(&shop, &program).await;
    let listed = events("list --state stuck").await;
    listed.says("checkout.session.completed");
    assert!(listed.out.starts_with(&id), "{listed:?}");
    events("list --state parked").await.says("no processor events");
    let other = format!("list --program {}", program.program_id.get() + 1);
    events(&other).await.says("no processor events");
    let shown = events(&format!("show {id}")).await;
    assert_eq!(shown.fact("state"), "stuck");
    assert!(!shown.out.contains("user-1"), "{shown:?}");
    events(&format!("show {id} --payload")).await.says("user-1");
    // The cause is repaired.
    shop.stack
        .execute("UPDATE processor_events SET payload = replace(payload, 'dollars', 'usd')")
        .await;
    assert!(events(&format!("replay {id}")).await.ok);
    shop.settled().await;
    shop.becomes("evt_checkout_1", "done", None).await;
    assert_eq!(shop.stack.balance(program.ada.membership).await, 980);
    let again = events(&format!("replay {id}")).await;
    assert!(!again.ok && again.out.contains("left"), "{again:?}");
    events(&format!("show {id} --payload"))
        .await
        .fails("payload is gone");
    shop.stack.verify().await;
}

#[tokio::test]
async fn all_in_one_state_are_replayed_at_once() {
    let shop = Shop::open().await;
    let program = shop.program().await;
    stuck(&shop, &program).await;
    ctl(&shop.stack, "processor-events replay --state stuck")
        .await
        .says("open again");
    shop.settled().await;
    assert_eq!(shop.event("evt_checkout_1").await.0, "stuck");
    ctl(&shop.stack, "processor-events replay --state done")
        .await
        .fails("finished");
}

#[tokio::test]
async fn what_waits_for_a_person_is_closed_by_one_and_stands_in_the_audit_log() {
    let shop = Shop::open().await;
    let program = shop.program().await;
    let unreadable = stuck(&shop, &program).await;
    let mut reinstated = shop.payment("2").disputed(4900);
    reinstated["type"] = json!("charge.dispute.funds_reinstated");
    shop.report(&program, &reinstated).await;
    // A refund of an unknown sale waits for the sale.
    shop.process(&program, &shop.payment("3").charge_refunded(1000))
        .await;
    let only = async |state: &str| {
        let listed = succeeds(&shop.stack, &format!("processor-events list --state {state}")).await;
        assert_eq!(listed.out.lines().count(), 1, "{listed:?}");
        listed.out.split_whitespace().next().unwrap().to_owned()
    };
    let close = async |id: &str| ctl(&shop.stack, &format!("processor-events close --yes {id}")).await;
    let (to_be_reviewed, parked) = (only("review").await, only("parked").await);
    for id in [&unreadable, &to_be_reviewed] {
        assert!(close(id).await.ok);
        close(id).await.fails("in state review or stuck");
    }
    assert!(!close(&parked).await.ok);
    // The processor may send the event again.
    shop.process(&program, &reinstated).await;
    shop.becomes("evt_disputed_2", "done", "disputed money was reinstated")
        .await;
    assert_eq!(shop.event("evt_checkout_1").await.0, "done");
    assert_eq!(shop.event("evt_refunded_1000_3").await.0, "parked");
    let payloads = "SELECT count(payload) FROM processor_events WHERE state = 'done'";
    assert_eq!(shop.stack.value::<i64>(payloads).await, 0, "personal data goes");
    let told: String = shop
        .stack
        .value(
            "SELECT string_agg(details->>'state' || ' ' || (details->>'processor_event_id'), ', ' ORDER BY id)
             FROM audit_log WHERE action = 'processor_event.closed' AND actor = 'operator'",
        )
        .await;
    assert_eq!(told, "stuck evt_checkout_1, review evt_disputed_2");
    shop.stack.verify().await;
}

#[tokio::test]
async fn verify_finds_payments_that_do_not_agree_with_the_books() {
    let (shop, program) = Shop::selling().await;
    for name in ["pi_1", "in_1", "other"] {
        let sale = sale_of(name, "user-1").with(json!({ "amount_cents": 4900 }));
        shop.stack.sold(&program, sale).await;
    }
    shop.process(&program, &shop.payment("1").charge_refunded(1000))
        .await;
    assert!(!rows::sale(&shop.stack, "in_1").await["duplicate_of"].is_null());
    shop.stack.verify().await;
    for (damage, invariant) in [
        (
            "INSERT INTO processor_refs SELECT program_id, 'other', payment FROM processor_refs LIMIT 1",
            "a payment is one sale, under however many names",
        ),
        (
            "UPDATE sale_events SET processor_refunded_cents = 0 WHERE duplicate_of IS NOT NULL",
            "a duplicate is wholly reversed, and its original is an earlier sale of its program",
        ),
        (
            "UPDATE processor_reversals SET amount_cents = amount_cents + 1",
            "what a processor took back of a sale is counted on it, once",
        ),
        (
            "UPDATE processor_events SET state = 'open', payload = '', relay_after = NULL",
            "no processor event is open for over a minute past its turn",
        ),
    ] {
        let broken = shop.stack.broken_by(damage).await;
        assert!(broken.contains(&invariant), "{damage}: {broken:?}");
    }
    shop.stack.verify().await;
}
