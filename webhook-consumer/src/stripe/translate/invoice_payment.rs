//! `invoice_payment.paid`: which payment intent paid an invoice. Since 2025-03-31 ("basil") no other event says so.

use serde::Deserialize;

use super::{TranslatedEvent, Untranslated};
use crate::stripe::event::{Event, Reference, ids};

#[derive(Deserialize)]
struct InvoicePayment {
    invoice: Option<Reference>,
    payment: Option<Payment>,
}

/// Its type decides which of the two is set.
#[derive(Deserialize)]
struct Payment {
    payment_intent: Option<Reference>,
    charge: Option<Reference>,
}

pub fn paid(event: &Event<'_>) -> Result<TranslatedEvent, Untranslated> {
    let paid: InvoicePayment = event.object()?;
    let payment = paid.payment.as_ref();
    let references = ids([
        paid.invoice.as_ref(),
        payment.and_then(|payment| payment.payment_intent.as_ref()),
        payment.and_then(|payment| payment.charge.as_ref()),
    ]);
    let translated = TranslatedEvent {
        references: references.collect(),
        ..TranslatedEvent::default()
    };
    translated.or_ignored("paid outside of Stripe")
}
