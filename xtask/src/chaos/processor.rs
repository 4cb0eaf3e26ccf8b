//! Events as a payment processor sends and signs them.

use std::fmt::Write;

use hmac::{Hmac, KeyInit, Mac};
use serde_json::{Value, json};
use sha2::Sha256;

use super::journal::Asked;

/// The body of a reported event; `None` for what is no event. The payment's transaction_id is its intent.
pub(super) fn body(asked: &Asked, created: i64) -> Option<String> {
    let Asked::Event {
        id,
        transaction_id,
        customer_key,
        amount_cents,
        refunded_cents,
    } = asked
    else {
        return None;
    };
    let name = transaction_id.trim_start_matches("pi_");
    let (kind, object) = if *refunded_cents == 0 {
        (
            "checkout.session.completed",
            json!({
                "id": format!("cs_{name}"), "object": "checkout.session", "mode": "payment", "payment_status": "paid",
                "payment_intent": transaction_id, "invoice": null, "subscription": null,
                "amount_total": amount_cents, "currency": "usd",
                "metadata": { "tracker_customer_key": customer_key },
            }),
        )
    } else {
        (
            "charge.refunded",
            json!({
                "id": format!("ch_{name}"), "object": "charge", "amount": amount_cents,
                "amount_refunded": refunded_cents, "currency": "usd", "payment_intent": transaction_id,
                "metadata": {}, "refunded": refunded_cents == amount_cents,
            }),
        )
    };
    Some(event(id, kind, created, &object).to_string())
}

fn event(id: &str, kind: &str, created: i64, object: &Value) -> Value {
    json!({
        "id": id, "object": "event", "type": kind, "livemode": true, "created": created,
        "data": { "object": object },
    })
}

/// The header that says who sent it. `timestamp` in Unix seconds.
pub(super) fn signature(secret: &str, timestamp: i64, body: &str) -> Option<String> {
    let mac = Hmac::<Sha256>::new_from_slice(secret.as_bytes()).ok()?;
    let mac = mac.chain_update(format!("{timestamp}.")).chain_update(body);
    let mut header = format!("Stripe-Signature: t={timestamp},v1=");
    for byte in mac.finalize().into_bytes() {
        write!(header, "{byte:02x}").ok()?;
    }
    Some(header)
}
