//! `invoice_payment.paid`: names the payment intent that paid an invoice. Since 2025-03-31 ("basil") no other
//! event does.

use serde::Deserialize;

use super::{TranslatedEvent, Untranslated};
use crate::stripe::event::{Event, Reference, ids};

#[derive(Deserialize)]
struct InvoicePayment {
    invoice: Option<Reference>,
    payment: Option<Payment>,
}

/// The payment's type decides which of the two fields is set.
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
