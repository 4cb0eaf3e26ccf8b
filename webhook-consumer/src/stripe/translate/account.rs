//! `account.updated` and `account.application.deauthorized`: the capabilities of a connected account, and its
//! disconnection.

use domain::processors::processor::ProcessorId;
use messages::payment::PaymentFact;
use serde::Deserialize;
use serde_json::Value;

use super::{TranslatedEvent, Untranslated};
use crate::stripe::event::Event;

#[derive(Deserialize)]
struct Account {
    id: ProcessorId,
    charges_enabled: bool,
    payouts_enabled: bool,
    details_submitted: bool,
}

pub fn updated(event: &Event<'_>) -> Result<TranslatedEvent, Untranslated> {
    let account: Account = event.object()?;
    if event.account.as_ref().is_some_and(|of| *of != account.id) {
        return Err(Untranslated::Stuck("it is about another account than it is of"));
    }
    let fact = PaymentFact::Account {
        connected: true,
        charges_enabled: account.charges_enabled,
        payouts_enabled: account.payouts_enabled,
        details_submitted: account.details_submitted,
    };
    Ok(translated(account.id, fact))
}

/// The object is the deauthorized application; the envelope names the account.
pub fn deauthorized(event: &Event<'_>) -> Result<TranslatedEvent, Untranslated> {
    event.object::<Value>()?;
    let account = event.account.clone();
    let account = account.ok_or(Untranslated::Stuck("it does not say which account left"))?;
    let fact = PaymentFact::Account {
        connected: false,
        charges_enabled: false,
        payouts_enabled: false,
        details_submitted: false,
    };
    Ok(translated(account, fact))
}

fn translated(account: ProcessorId, fact: PaymentFact) -> TranslatedEvent {
    TranslatedEvent {
        account: Some(account),
        fact: Some(fact),
        ..TranslatedEvent::default()
    }
}
