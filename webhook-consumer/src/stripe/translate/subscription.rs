//! `customer.subscription.created` and `…updated`: binds the processor's customer to ours, if the metadata
//! names ours. `customer.subscription.deleted`: ends the renewals.

use messages::payment::PaymentFact;
use serde::Deserialize;

use super::{Buyer, TranslatedEvent, Untranslated, named_program};
use crate::stripe::event::{Event, Reference};
use crate::stripe::metadata::{Metadata, MetadataKeys};
use domain::text::SubscriptionId;

#[derive(Deserialize)]
struct Subscription {
    id: SubscriptionId,
    customer: Option<Reference>,
    metadata: Option<Metadata>,
}

pub fn named(event: &Event<'_>, keys: &MetadataKeys) -> Result<TranslatedEvent, Untranslated> {
    let subscription: Subscription = event.object()?;
    let sources: Vec<&Metadata> = subscription.metadata.iter().collect();
    let translated = TranslatedEvent {
        program: named_program(None, keys, &sources)?,
        customer: Buyer::read(keys, &sources, None, subscription.customer.as_ref())?.named(),
        ..TranslatedEvent::default()
    };
    translated.or_ignored("names no customer of ours")
}

pub fn deleted(event: &Event<'_>, keys: &MetadataKeys) -> Result<TranslatedEvent, Untranslated> {
    let subscription: Subscription = event.object()?;
    let sources: Vec<&Metadata> = subscription.metadata.iter().collect();
    let translated = TranslatedEvent {
        program: named_program(None, keys, &sources)?,
        fact: Some(PaymentFact::SubscriptionEnded {
            subscription_id: subscription.id,
        }),
        ..TranslatedEvent::default()
    };
    Ok(translated)
}
