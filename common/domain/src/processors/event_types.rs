//! The event types that a processor must send, and the consequence of each missing type.

use std::collections::BTreeSet;

/// Stripe's event types to subscribe to, as in `docs/integrate.md`.
pub const SUBSCRIBED: [&str; 15] = [
    "checkout.session.completed",
    "checkout.session.async_payment_succeeded",
    "invoice.paid",
    "invoice_payment.paid",
    "payment_intent.succeeded",
    "charge.succeeded",
    "charge.captured",
    "charge.refunded",
    "charge.refund.updated",
    "refund.failed",
    "charge.dispute.funds_withdrawn",
    "charge.dispute.funds_reinstated",
    "customer.subscription.created",
    "customer.subscription.deleted",
    "customer.updated",
];

/// Another name of `invoice.paid`.
pub const INVOICE_PAYMENT_SUCCEEDED: &str = "invoice.payment_succeeded";

/// An event type that has not arrived, although other events prove that the processor had one to send.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MissingEventType {
    pub missing: &'static str,
    /// An event of one of these types arrived.
    shown_by: &'static [&'static str],
    /// For people: the evidence and the consequence.
    pub message: &'static str,
}

const PROVEN_MISSING: [MissingEventType; 4] = [
    MissingEventType {
        missing: "invoice.paid",
        shown_by: &["invoice_payment.paid", "customer.subscription.created"],
        message: "Subscriptions or invoices were seen, but no invoice.paid: payments of subscriptions are not recorded. \
                  Add invoice.paid to the events of the endpoint in Stripe.",
    },
    MissingEventType {
        missing: "invoice_payment.paid",
        shown_by: &["invoice.paid", INVOICE_PAYMENT_SUCCEEDED],
        message: "Paid invoices were seen, but no invoice_payment.paid: refunds of subscriptions may not be deducted. \
                  Add invoice_payment.paid to the events of the endpoint in Stripe, unless its API version is older than 2025-03-31.",
    },
    MissingEventType {
        missing: "charge.refunded",
        shown_by: &["charge.refund.updated", "refund.failed"],
        message: "Refunds were seen, but no charge.refunded: refunds are not deducted. \
                  Add charge.refunded to the events of the endpoint in Stripe.",
    },
    MissingEventType {
        missing: "charge.dispute.funds_withdrawn",
        shown_by: &["charge.dispute.funds_reinstated"],
        message: "Disputes were seen, but no charge.dispute.funds_withdrawn: disputed payments are not deducted. \
                  Add charge.dispute.funds_withdrawn to the events of the endpoint in Stripe.",
    },
];

/// The subscribed types that were not received, in the order of [`SUBSCRIBED`].
pub fn never_received(received: &BTreeSet<String>) -> Vec<&'static str> {
    SUBSCRIBED
        .into_iter()
        .filter(|kind| !is_received(received, kind))
        .collect()
}

/// The missing types whose absence other events prove. A program without refunds receives no refund events,
/// so their absence alone proves nothing.
pub fn proven_missing(received: &BTreeSet<String>) -> Vec<MissingEventType> {
    PROVEN_MISSING
        .into_iter()
        .filter(|rule| {
            !is_received(received, rule.missing) && rule.shown_by.iter().any(|kind| received.contains(*kind))
        })
        .collect()
}

fn is_received(received: &BTreeSet<String>, kind: &str) -> bool {
    received.contains(kind) || (kind == "invoice.paid" && received.contains(INVOICE_PAYMENT_SUCCEEDED))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn received(kinds: &[&str]) -> BTreeSet<String> {
        kinds.iter().map(|kind| (*kind).to_owned()).collect()
    }

    fn missing(kinds: &[&str]) -> Vec<&'static str> {
        let found = proven_missing(&received(kinds));
        found.iter().map(|rule| rule.missing).collect()
    }

    #[test]
    fn the_page_for_integrators_lists_the_same_types() {
        let page = include_str!("../../../../docs/integrate.md");
        assert!(page.contains(&SUBSCRIBED.join("\n")));
    }

    #[test]
    fn what_was_never_received_is_listed_in_order() {
        assert_eq!(never_received(&received(&[])), SUBSCRIBED);
        let rest = never_received(&received(&[
            "invoice.payment_succeeded",
            "charge.succeeded",
            "other",
        ]));
        assert_eq!(rest.len(), SUBSCRIBED.len() - 2);
        assert!(!rest.contains(&"invoice.paid") && !rest.contains(&"charge.succeeded"));
    }

    #[test]
    fn only_what_others_show_is_missing() {
        assert!(missing(&[]).is_empty());
        assert!(missing(&["checkout.session.completed", "charge.succeeded"]).is_empty());
        assert_eq!(missing(&["invoice.paid"]), ["invoice_payment.paid"]);
        assert_eq!(missing(&["invoice.payment_succeeded"]), ["invoice_payment.paid"]);
        assert_eq!(missing(&["customer.subscription.created"]), ["invoice.paid"]);
        assert!(missing(&["invoice.paid", "invoice_payment.paid"]).is_empty());
        assert_eq!(missing(&["refund.failed"]), ["charge.refunded"]);
        assert_eq!(
            missing(&["charge.dispute.funds_reinstated", "charge.refunded"]),
            ["charge.dispute.funds_withdrawn"]
        );
    }

    #[test]
    fn each_message_names_its_type() {
        for rule in PROVEN_MISSING {
            assert!(SUBSCRIBED.contains(&rule.missing) && rule.message.contains(rule.missing));
        }
    }
}
