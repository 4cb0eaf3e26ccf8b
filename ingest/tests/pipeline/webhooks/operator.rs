//! The inbox at the operator's command line, and in the report of `ctl verify`.

use reqwest::StatusCode;
use serde_json::json;
use storage::operations::verify;

use super::shop::{Payment, Shape, Shop};
use test_harness::{Program, ctl, rows, succeeds};

fn payment(shop: &Shop, name: &str) -> Payment {
    Payment {
        shape: Shape::Acacia,
        name: name.to_owned(),
        customer_key: "user-1".to_owned(),
        subscription: None,
        cents: 4900,
        began: shop.opened,
    }
}

/// An event whose payload does not match its type.
async fn stuck(shop: &Shop, program: &Program) -> String {
    let mut event = payment(shop, "1").checkout();
    event["data"]["object"]["currency"] = json!("dollars");
    shop.process(program, &event).await;
    let id: uuid::Uuid = shop.stack.value("SELECT event_id FROM processor_events").await;
    id.to_string()
}

#[tokio::test]
async fn what_is_stuck_is_listed_shown_and_replayed() {
    let shop = Shop::open().await;
    let program = shop.program().await;
    shop.stack.customer(&program, &program.ada.code, "user-1").await;
    let none = succeeds(&shop.stack, &["processor-events", "list"]).await;
    assert_eq!(none.out.trim(), "no processor events");
    let id = stuck(&shop, &program).await;
    let listed = succeeds(&shop.stack, &["processor-events", "list", "--state", "stuck"]).await;
    assert!(listed.out.starts_with(&id), "{listed:?}");
    assert!(listed.out.contains("checkout.session.completed"), "{listed:?}");
    let parked = succeeds(&shop.stack, &["processor-events", "list", "--state", "parked"]).await;
    assert_eq!(parked.out.trim(), "no processor events");
    let other = (program.program_id.get() + 1).to_string();
    let others = succeeds(&shop.stack, &["processor-events", "list", "--program", &other]).await;
    assert_eq!(others.out.trim(), "no processor events");
    let shown = succeeds(&shop.stack, &["processor-events", "show", &id]).await;
    assert_eq!(shown.fact("state"), "stuck");
    assert!(!shown.out.contains("user-1"), "{shown:?}");
    let whole = succeeds(&shop.stack, &["processor-events", "show", &id, "--payload"]).await;
    assert!(whole.out.contains("user-1"), "{whole:?}");
    // The cause is repaired.
    shop.stack
        .execute("UPDATE processor_events SET payload = replace(payload, 'dollars', 'usd')")
        .await;
    succeeds(&shop.stack, &["processor-events", "replay", &id]).await;
    shop.settled().await;
    assert_eq!(shop.event("evt_checkout_1").await, ("done".to_owned(), None));
    assert_eq!(shop.stack.balance(program.ada.membership).await, 980);
    let again = ctl(&shop.stack, &["processor-events", "replay", &id]).await;
    assert!(!again.ok && again.out.contains("left"), "{again:?}");
    let gone = ctl(&shop.stack, &["processor-events", "show", &id, "--payload"]).await;
    assert!(!gone.ok && gone.err.contains("payload is gone"), "{gone:?}");
    shop.stack.verify().await;
}

#[tokio::test]
async fn all_in_one_state_are_replayed_at_once() {
    let shop = Shop::open().await;
    let program = shop.program().await;
    stuck(&shop, &program).await;
    let replayed = succeeds(&shop.stack, &["processor-events", "replay", "--state", "stuck"]).await;
    assert!(replayed.out.contains("open again"), "{replayed:?}");
    shop.settled().await;
    assert_eq!(shop.event("evt_checkout_1").await.0, "stuck");
    let done = ctl(&shop.stack, &["processor-events", "replay", "--state", "done"]).await;
    assert!(!done.ok && done.err.contains("finished"), "{done:?}");
}

#[tokio::test]
async fn what_waits_for_a_person_is_closed_by_one_and_stands_in_the_audit_log() {
    let shop = Shop::open().await;
    let program = shop.program().await;
    let unreadable = stuck(&shop, &program).await;
    let mut reinstated = payment(&shop, "2").disputed(4900);
    reinstated["type"] = json!("charge.dispute.funds_reinstated");
    shop.report(&program, &reinstated).await;
    // A refund of an unknown sale waits for the sale.
    shop.process(&program, &payment(&shop, "3").charge_refunded(1000))
        .await;
    let only = async |state: &str| {
        let listed = succeeds(&shop.stack, &["processor-events", "list", "--state", state]).await;
        assert_eq!(listed.out.lines().count(), 1, "{listed:?}");
        listed.out.split_whitespace().next().unwrap().to_owned()
    };
    let (to_be_reviewed, parked) = (only("review").await, only("parked").await);
    for id in [&unreadable, &to_be_reviewed] {
        succeeds(&shop.stack, &["processor-events", "close", "--yes", id]).await;
        let again = ctl(&shop.stack, &["processor-events", "close", "--yes", id]).await;
        assert!(
            !again.ok && again.err.contains("in state review or stuck"),
            "{again:?}"
        );
    }
    let waits = ctl(&shop.stack, &["processor-events", "close", "--yes", &parked]).await;
    assert!(!waits.ok, "{waits:?}");
    // The processor may send the event again.
    shop.process(&program, &reinstated).await;
    let reason = "disputed money was reinstated".to_owned();
    assert_eq!(
        shop.event("evt_disputed_2").await,
        ("done".to_owned(), Some(reason))
    );
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
    let shop = Shop::open().await;
    let program = shop.program().await;
    shop.stack.customer(&program, &program.ada.code, "user-1").await;
    for name in ["pi_1", "in_1", "other"] {
        let body = json!({ "transaction_id": name, "amount_cents": 4900, "customer_key": "user-1" });
        assert_eq!(shop.stack.sale(&program, body).await.status, StatusCode::OK);
    }
    shop.process(&program, &payment(&shop, "1").charge_refunded(1000))
        .await;
    assert!(!rows::sale(&shop.stack, "in_1").await["duplicate_of"].is_null());
    shop.stack.verify().await;
    for (damage, repair, broken) in [
        (
            "INSERT INTO processor_refs SELECT program_id, 'other', payment FROM processor_refs LIMIT 1",
            "DELETE FROM processor_refs WHERE reference = 'other'",
            "a payment is one sale, under however many names",
        ),
        (
            "UPDATE sale_events SET processor_refunded_cents = 0 WHERE duplicate_of IS NOT NULL",
            "UPDATE sale_events SET processor_refunded_cents = amount_cents WHERE duplicate_of IS NOT NULL",
            "a duplicate is wholly reversed, and its original is an earlier sale of its program",
        ),
        (
            "UPDATE processor_reversals SET amount_cents = amount_cents + 1",
            "UPDATE processor_reversals SET amount_cents = amount_cents - 1",
            "what a processor took back of a sale is counted on it, once",
        ),
        (
            "UPDATE processor_events SET state = 'open', payload = '', relay_after = NULL",
            "UPDATE processor_events SET state = 'done', payload = NULL, relay_after = NULL",
            "no processor event is open for over a minute past its turn",
        ),
    ] {
        shop.stack.execute(damage).await;
        let violations = verify::violations(shop.stack.pool()).await.unwrap();
        let names: Vec<_> = violations.iter().map(|violation| violation.invariant).collect();
        assert!(names.contains(&broken), "{damage}: {names:?}");
        shop.stack.execute(repair).await;
    }
    shop.stack.verify().await;
}
