//! `charge.dispute.funds_withdrawn`: the customer's bank took the money back.
//! `charge.dispute.funds_reinstated`: the money was returned, and a person decides whether the partner gets
//! the commission again.

use domain::processors::processor::ProcessorId;
use messages::payment::PaymentFact;
use serde::Deserialize;

use super::{TranslatedEvent, Untranslated};
use crate::stripe::event::{Event, Reference, amount, currency, ids};

#[derive(Deserialize)]
struct Dispute {
    id: ProcessorId,
    amount: i64,
    currency: String,
    status: String,
    charge: Option<Reference>,
    payment_intent: Option<Reference>,
}

impl Dispute {
    /// An inquiry is not a dispute yet, and withdraws no funds.
    fn is_inquiry(&self) -> bool {
        self.status.starts_with("warning_")
    }
}

pub fn withdrawn(event: &Event<'_>) -> Result<TranslatedEvent, Untranslated> {
    let dispute: Dispute = event.object()?;
    let references: Vec<ProcessorId> =
        ids([dispute.charge.as_ref(), dispute.payment_intent.as_ref()]).collect();
    let Some(withdrawn) = amount(dispute.amount)?.filter(|_| !dispute.is_inquiry()) else {
        let translated = TranslatedEvent {
            references,
            ..TranslatedEvent::default()
        };
        return translated.or_ignored("nothing was withdrawn");
    };
    if references.is_empty() {
        return Err(Untranslated::Stuck("it names no charge and no payment intent"));
    }
    let translated = TranslatedEvent {
        references,
        fact: Some(PaymentFact::Disputed {
            currency: currency(&dispute.currency)?,
            dispute: dispute.id,
            withdrawn,
        }),
        ..TranslatedEvent::default()
    };
    Ok(translated)
}

pub fn reinstated(event: &Event<'_>) -> Result<TranslatedEvent, Untranslated> {
    event.object::<Dispute>()?;
    Err(Untranslated::Review("disputed money was reinstated"))
}
