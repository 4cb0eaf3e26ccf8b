//! `refund.failed` and `charge.refund.updated`: a refund that was reported before has failed. The event does
//! not say how much of it remains, so it needs review by a person.

use serde::Deserialize;

use super::{TranslatedEvent, Untranslated};
use crate::stripe::event::Event;

const FAILED: &str = "a refund failed after it was told";

#[derive(Deserialize)]
struct Refund {
    status: Option<String>,
}

pub fn updated(event: &Event<'_>) -> Result<TranslatedEvent, Untranslated> {
    let refund: Refund = event.object()?;
    Err(match refund.status.as_deref() {
        Some("failed") => Untranslated::Review(FAILED),
        _ => Untranslated::Ignored("of a refund that has not failed"),
    })
}

pub fn failed(event: &Event<'_>) -> Result<TranslatedEvent, Untranslated> {
    event.object::<Refund>()?;
    Err(Untranslated::Review(FAILED))
}
