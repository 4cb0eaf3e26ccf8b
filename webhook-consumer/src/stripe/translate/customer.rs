//! `customer.created` and `customer.updated`: binds the processor's customer to ours, if the metadata names
//! ours.

use domain::processors::processor::ProcessorId;
use serde::Deserialize;

use super::{Buyer, TranslatedEvent, Untranslated, named_program};
use crate::stripe::event::{Event, Reference};
use crate::stripe::metadata::{Metadata, MetadataKeys};

#[derive(Deserialize)]
struct Customer {
    id: ProcessorId,
    metadata: Option<Metadata>,
}

pub fn named(event: &Event<'_>, keys: &MetadataKeys) -> Result<TranslatedEvent, Untranslated> {
    let customer: Customer = event.object()?;
    let sources: Vec<&Metadata> = customer.metadata.iter().collect();
    let translated = TranslatedEvent {
        program: named_program(None, keys, &sources)?,
        customer: Buyer::read(keys, &sources, None, Some(&Reference(customer.id.clone())))?.named(),
        ..TranslatedEvent::default()
    };
    translated.or_ignored("names no customer of ours")
}
