//! `charge.succeeded` and `charge.captured`: the ids of a payment, and a sale if the charge's own metadata
//! names the customer, as for the [payment intent](super::payment_intent). `charge.refunded`: the charge was
//! refunded in part or in full.

use domain::processors::processor::ProcessorId;
use messages::payment::PaymentFact;
use serde::Deserialize;

use super::{Buyer, TranslatedEvent, Untranslated, named_program, one_off};
use crate::stripe::event::{Event, Reference, amount, currency, ids};
use crate::stripe::metadata::{Metadata, MetadataKeys};

#[derive(Deserialize)]
struct Charge {
    id: ProcessorId,
    payment_intent: Option<Reference>,
    /// Only up to API version "acacia".
    invoice: Option<Reference>,
}

#[derive(Deserialize)]
struct PaidCharge {
    #[serde(flatten)]
    charge: Charge,
    /// Zero while the charge is only authorised.
    amount_captured: Option<i64>,
    currency: String,
    customer: Option<Reference>,
    metadata: Option<Metadata>,
}

#[derive(Deserialize)]
struct RefundedCharge {
    #[serde(flatten)]
    charge: Charge,
    /// A running total, so the order of events does not matter.
    amount_refunded: i64,
    currency: String,
    metadata: Option<Metadata>,
}

impl Charge {
    fn references(&self) -> Vec<ProcessorId> {
        std::iter::once(self.id.clone())
            .chain(ids([self.payment_intent.as_ref(), self.invoice.as_ref()]))
            .collect()
    }
}

pub fn succeeded(event: &Event<'_>, keys: &MetadataKeys) -> Result<TranslatedEvent, Untranslated> {
    let paid: PaidCharge = event.object()?;
    let charge = &paid.charge;
    let sources: Vec<&Metadata> = paid.metadata.iter().collect();
    let buyer = Buyer::read(keys, &sources, None, paid.customer.as_ref())?;
    let captured = amount(paid.amount_captured.unwrap_or_default())?
        .filter(|_| charge.invoice.is_none() && buyer.payer.is_some());
    let transaction_id = ids([charge.payment_intent.as_ref()])
        .next()
        .unwrap_or_else(|| charge.id.clone());
    let sale = captured
        .map(|captured| one_off(transaction_id, captured, &paid.currency, &buyer))
        .transpose()?;
    let translated = TranslatedEvent {
        program: named_program(sale.as_ref(), keys, &sources)?,
        references: charge.references(),
        customer: buyer.named(),
        sale_awaits_session: sale.is_some(),
        sale,
        ..TranslatedEvent::default()
    };
    translated.or_ignored("of a charge without payment intent")
}

pub fn refunded(event: &Event<'_>, keys: &MetadataKeys) -> Result<TranslatedEvent, Untranslated> {
    let refunded: RefundedCharge = event.object()?;
    let Some(amount) = amount(refunded.amount_refunded)? else {
        return Err(Untranslated::Ignored("nothing was refunded"));
    };
    let sources: Vec<&Metadata> = refunded.metadata.iter().collect();
    let translated = TranslatedEvent {
        program: named_program(None, keys, &sources)?,
        references: refunded.charge.references(),
        fact: Some(PaymentFact::Refunded {
            charge: refunded.charge.id,
            refunded: amount,
            currency: currency(&refunded.currency)?,
        }),
        ..TranslatedEvent::default()
    };
    Ok(translated)
}
