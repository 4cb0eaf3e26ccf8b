//! `payment_intent.succeeded`: the ids of a payment, and a sale if the intent's own metadata names the
//! customer.
//!
//! Checkout sessions and invoices report their own payments. An intent has metadata only if the merchant's
//! code wrote it. If both report a payment, the ids they share make it one sale, and the report that is
//! recorded first counts. So the intent's sale waits: the session or invoice also names the tax and the
//! product.

use domain::processors::processor::ProcessorId;
use serde::Deserialize;

use super::{Buyer, TranslatedEvent, Untranslated, named_program, one_off};
use crate::stripe::event::{Event, Reference, amount, ids};
use crate::stripe::metadata::{Metadata, MetadataKeys};

#[derive(Deserialize)]
struct PaymentIntent {
    id: ProcessorId,
    amount_received: i64,
    currency: String,
    customer: Option<Reference>,
    latest_charge: Option<Reference>,
    metadata: Option<Metadata>,
    /// Only up to API version "acacia".
    invoice: Option<Reference>,
}

pub fn succeeded(event: &Event<'_>, keys: &MetadataKeys) -> Result<TranslatedEvent, Untranslated> {
    let intent: PaymentIntent = event.object()?;
    let sources: Vec<&Metadata> = intent.metadata.iter().collect();
    let buyer = Buyer::read(keys, &sources, None, intent.customer.as_ref())?;
    let paid = amount(intent.amount_received)?.filter(|_| intent.invoice.is_none() && buyer.payer.is_some());
    let sale = paid
        .map(|paid| one_off(intent.id.clone(), paid, &intent.currency, &buyer))
        .transpose()?;
    let translated = TranslatedEvent {
        program: named_program(sale.as_ref(), keys, &sources)?,
        references: std::iter::once(intent.id.clone())
            .chain(ids([intent.latest_charge.as_ref(), intent.invoice.as_ref()]))
            .collect(),
        customer: buyer.named(),
        sale_awaits_session: sale.is_some(),
        sale,
        ..TranslatedEvent::default()
    };
    translated.or_ignored("of a payment intent without metadata of ours")
}
