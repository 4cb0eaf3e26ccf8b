//! `customer.subscription.deleted`: there will be no more renewals.

use common::messages::payment::PaymentFact;
use serde::Deserialize;

use super::{Told, Untold, named_program};
use crate::stripe::event::Event;
use crate::stripe::metadata::{Metadata, MetadataKeys};
use common::domain::text::SubscriptionId;

#[derive(Deserialize)]
struct Subscription {
    id: SubscriptionId,
    metadata: Option<Metadata>,
}

pub fn deleted(event: &Event<'_>, keys: &MetadataKeys) -> Result<Told, Untold> {
    let subscription: Subscription = event.object()?;
    let sources: Vec<&Metadata> = subscription.metadata.iter().collect();
    let told = Told {
        program: named_program(None, keys, &sources)?,
        fact: Some(PaymentFact::SubscriptionEnded {
            subscription_id: subscription.id,
        }),
        ..Told::default()
    };
    Ok(told)
}
