//! `customer.created` and `customer.updated`: whom the processor's customer is, where the merchant's code wrote it there.

use domain::processor::ProcessorId;
use serde::Deserialize;

use super::{Buyer, Told, Untold, named_program};
use crate::stripe::event::{Event, Reference};
use crate::stripe::metadata::{Metadata, MetadataKeys};

#[derive(Deserialize)]
struct Customer {
    id: ProcessorId,
    metadata: Option<Metadata>,
}

pub fn named(event: &Event<'_>, keys: &MetadataKeys) -> Result<Told, Untold> {
    let customer: Customer = event.object()?;
    let sources: Vec<&Metadata> = customer.metadata.iter().collect();
    let told = Told {
        program: named_program(None, keys, &sources)?,
        customer: Buyer::read(keys, &sources, None, Some(&Reference(customer.id.clone())))?.named(),
        ..Told::default()
    };
    told.or_ignored("names no customer of ours")
}
