//! `refund.failed` and `charge.refund.updated`: a refund that was told before came to nothing. How much of it stands is not
//! in the event, so a person must look.

use serde::Deserialize;

use super::{Told, Untold};
use crate::stripe::event::Event;

const FAILED: &str = "a refund failed after it was told";

#[derive(Deserialize)]
struct Refund {
    status: Option<String>,
}

pub fn updated(event: &Event<'_>) -> Result<Told, Untold> {
    let refund: Refund = event.object()?;
    Err(match refund.status.as_deref() {
        Some("failed") => Untold::Review(FAILED),
        _ => Untold::Ignored("of a refund that has not failed"),
    })
}

pub fn failed(event: &Event<'_>) -> Result<Told, Untold> {
    event.object::<Refund>()?;
    Err(Untold::Review(FAILED))
}
