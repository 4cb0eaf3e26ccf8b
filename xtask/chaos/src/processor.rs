//! Events as a payment processor sends them.

use serde_json::json;

use super::journal::{Event, Names, What};

/// The body of an event that is reported at `now`. The payment's transaction_id is its intent.
pub(super) fn body(event: &Event, now: i64) -> String {
    let Event {
        transaction_id,
        amount_cents,
        ..
    } = event;
    let name = transaction_id.trim_start_matches("pi_");
    let key = json!({ "tracker_customer_key": event.customer_key });
    let (kind, object) = match &event.what {
        What::Paid(names) => {
            let (metadata, customer) = match names {
                Names::Key => (key, None),
                Names::KeyAndCustomer(customer) => (key, Some(customer)),
                Names::Customer(customer) => (json!({}), Some(customer)),
            };
            let session = json!({
                "id": format!("cs_{name}"), "object": "checkout.session", "mode": "payment", "payment_status": "paid",
                "payment_intent": transaction_id, "invoice": null, "subscription": null,
                "amount_total": amount_cents, "currency": "usd", "customer": customer, "metadata": metadata,
            });
            ("checkout.session.completed", session)
        }
        What::Refunded { cents } => {
            let charge = json!({
                "id": format!("ch_{name}"), "object": "charge", "amount": amount_cents,
                "amount_refunded": cents, "currency": "usd", "payment_intent": transaction_id,
                "metadata": {}, "refunded": cents == amount_cents,
            });
            ("charge.refunded", charge)
        }
    };
    let event = json!({
        "id": event.id, "object": "event", "type": kind, "livemode": true, "created": now,
        "data": { "object": object },
    });
    event.to_string()
}
