//! `charge.succeeded`: the ids of a payment. `charge.refunded`: money went back.

use common::domain::processor::ProcessorId;
use common::messages::payment::PaymentFact;
use serde::Deserialize;

use super::{Told, Untold, named_program};
use crate::stripe::event::{Event, Reference, amount, currency, ids};
use crate::stripe::metadata::{Metadata, MetadataKeys};

#[derive(Deserialize)]
struct Charge {
    id: ProcessorId,
    payment_intent: Option<Reference>,
    /// acacia
    invoice: Option<Reference>,
}

#[derive(Deserialize)]
struct RefundedCharge {
    #[serde(flatten)]
    charge: Charge,
    /// All of it so far, so the order of events does not matter.
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

pub fn succeeded(event: &Event<'_>) -> Result<Told, Untold> {
    let charge: Charge = event.object()?;
    let told = Told {
        references: charge.references(),
        ..Told::default()
    };
    told.or_ignored("of a charge without payment intent")
}

pub fn refunded(event: &Event<'_>, keys: &MetadataKeys) -> Result<Told, Untold> {
    let refunded: RefundedCharge = event.object()?;
    let Some(amount) = amount(refunded.amount_refunded)? else {
        return Err(Untold::Ignored("nothing was refunded"));
    };
    let sources: Vec<&Metadata> = refunded.metadata.iter().collect();
    let told = Told {
        program: named_program(None, keys, &sources)?,
        references: refunded.charge.references(),
        fact: Some(PaymentFact::Refunded {
            charge: refunded.charge.id,
            refunded: amount,
            currency: currency(&refunded.currency)?,
        }),
        ..Told::default()
    };
    Ok(told)
}
