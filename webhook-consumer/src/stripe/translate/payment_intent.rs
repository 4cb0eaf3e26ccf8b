//! `payment_intent.succeeded`: the ids of a payment, and a sale where its own metadata says whose it is.
//!
//! A payment of a checkout session or an invoice is told by those, and its intent has metadata only if the merchant's code wrote it
//! there. Both are one sale then, by the ids that they share; the intent waits, because they know what was tax and for what was
//! paid, and whatever is recorded first stays.

use domain::processor::ProcessorId;
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
    /// acacia
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
