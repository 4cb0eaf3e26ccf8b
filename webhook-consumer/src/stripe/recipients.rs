//! Decides which programs receive an event, and what part of it. Pure.
//!
//! An event at a program's own endpoint goes to that program. An event at the endpoint for connected accounts
//! goes to the program that it names, or else to every program bound to the account. That many recipients do
//! no harm: a payment's ids and refunds have no effect in a program that does not know the payment. A sale
//! goes to one program only, or to none while the program is ambiguous.

use chrono::{DateTime, Utc};
use domain::ids::ProgramId;
use domain::processors::payer::NamedCustomer;
use domain::processors::processor::ProcessorId;
use domain::tracking::sale::Sale;
use messages::payment::PaymentFact;
use storage::processor::processor_connections::BoundPrograms;
use storage::processor::processor_events::Disposition;

use super::translate::{TranslatedEvent, Untranslated};

/// The endpoint that received an event whose signature is verified.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Endpoint {
    Program {
        program_id: ProgramId,
        /// The account of the program's connection.
        account_id: ProcessorId,
    },
    /// The endpoint for connected accounts, with the programs bound to the event's account.
    Distributor(BoundPrograms),
}

/// One program's part of an event. Without a `program_id` the part belongs to no program.
#[derive(Debug, Clone)]
pub struct Share {
    pub program_id: Option<ProgramId>,
    pub disposition: Disposition,
    pub sale: Option<Sale>,
    pub payment: Option<Payment>,
    /// Set if it differs from the event's time.
    pub occurred_at: Option<DateTime<Utc>>,
    pub sale_awaits_session: bool,
}

/// Facts about a payment, a subscription or an account, apart from the sale.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Payment {
    pub references: Vec<ProcessorId>,
    pub fact: Option<PaymentFact>,
    pub customer: Option<NamedCustomer>,
}

/// The shares of an event, one per program. Never empty: an event without a program is stored too.
pub fn shares(
    translated: Result<TranslatedEvent, Untranslated>,
    account: Option<&ProcessorId>,
    endpoint: &Endpoint,
) -> Vec<Share> {
    match endpoint {
        Endpoint::Program {
            program_id,
            account_id,
        } => vec![own_share(translated, account, *program_id, Some(account_id))],
        Endpoint::Distributor(programs) => distributed(translated, programs),
    }
}

/// The share of a program whose own endpoint received the event, or to which the event was assigned before.
/// `account` is the event's account, `account_id` that of the program's connection.
pub fn own_share(
    translated: Result<TranslatedEvent, Untranslated>,
    account: Option<&ProcessorId>,
    program_id: ProgramId,
    account_id: Option<&ProcessorId>,
) -> Share {
    let about = translated
        .as_ref()
        .ok()
        .and_then(|translated| translated.account.as_ref());
    if account
        .into_iter()
        .chain(about)
        .any(|named| Some(named) != account_id)
    {
        return Share::stuck(Some(program_id), "it is of another account than the program's");
    }
    match translated {
        Ok(translated)
            if translated.sale.is_some() && translated.program.is_some_and(|named| named != program_id) =>
        {
            Share::stuck(Some(program_id), "it names another program")
        }
        Ok(translated) => Share::translated(program_id, translated),
        Err(untranslated) => Share::untranslated(Some(program_id), untranslated),
    }
}

/// The processor's customer, if its binding may select one of an account's programs for a sale. `None` if no
/// binding is needed.
pub fn customer_naming_program<'a>(
    translated: &'a TranslatedEvent,
    bound: &BoundPrograms,
) -> Option<&'a ProcessorId> {
    let sale = translated
        .sale
        .as_ref()
        .filter(|_| translated.program.is_none())?;
    let is_nameless = sale.customer_key.is_none() && sale.click_id.is_none();
    let customer = sale.processor_customer.as_ref();
    customer.filter(|_| is_nameless && bound.taking_sales.len() > 1)
}

/// Sales go to a program that accepts sales, if there is one. An archived program receives everything except
/// sales, so that its past sales can be refunded.
fn distributed(translated: Result<TranslatedEvent, Untranslated>, bound: &BoundPrograms) -> Vec<Share> {
    let all: Vec<ProgramId> = bound
        .taking_sales
        .iter()
        .chain(&bound.archived)
        .copied()
        .collect();
    if all.is_empty() {
        return vec![match translated {
            Err(untranslated @ Untranslated::Ignored(_)) => Share::untranslated(None, untranslated),
            _ => Share::stuck(None, "unknown account"),
        }];
    }
    let mut translated = match translated {
        Ok(translated) => translated,
        Err(untranslated) => {
            let share = |program_id: &ProgramId| Share::untranslated(Some(*program_id), untranslated);
            return all.iter().map(share).collect();
        }
    };
    let named = translated.program.filter(|named| all.contains(named));
    let only = named.or(match (&bound.taking_sales[..], &bound.archived[..]) {
        ([only], _) | ([], [only, ..]) => Some(*only),
        _ => None,
    });
    if let Some(only) = only
        && (translated.sale.is_none() || translated.program.is_none_or(|named| named == only))
    {
        let others = all
            .iter()
            .filter(|other| named.is_none() && **other != only && translated.is_of_use());
        let rest = TranslatedEvent {
            sale: None,
            ..translated.clone()
        };
        let others: Vec<Share> = others
            .map(|other| Share::translated(*other, rest.clone()))
            .collect();
        return std::iter::once(Share::translated(only, translated))
            .chain(others)
            .collect();
    }
    // The sale has no program so far. The facts go to all programs.
    let unclear = translated.sale.take().map(|sale| match translated.program {
        // The usual case: the payment has no sign of a referral.
        None if sale.customer_key.is_none() && sale.click_id.is_none() => Share::untranslated(
            None,
            Untranslated::Ignored("it names neither program nor customer, and its account has several"),
        ),
        Some(_) => Share::stuck(None, "it names a program that is not its account's"),
        None => Share::stuck(None, "it names no program, and its account has several"),
    });
    all.iter()
        .filter(|_| translated.is_of_use())
        .map(|program_id| Share::translated(*program_id, translated.clone()))
        .chain(unclear)
        .collect()
}

impl Share {
    fn translated(program_id: ProgramId, translated: TranslatedEvent) -> Self {
        let payment = translated.is_of_use().then(|| Payment {
            references: translated.references.clone(),
            fact: translated.fact.clone(),
            customer: translated.customer.clone(),
        });
        Self {
            program_id: Some(program_id),
            disposition: Disposition::Open {
                sale: translated.sale.is_some(),
                payment: payment.is_some(),
            },
            sale: translated.sale,
            payment,
            occurred_at: translated.occurred_at,
            sale_awaits_session: translated.sale_awaits_session,
        }
    }

    fn stuck(program_id: Option<ProgramId>, reason: &'static str) -> Self {
        Self::untranslated(program_id, Untranslated::Stuck(reason))
    }

    fn untranslated(program_id: Option<ProgramId>, untranslated: Untranslated) -> Self {
        let disposition = match untranslated {
            Untranslated::Ignored(reason) => Disposition::Ignored(reason),
            Untranslated::Review(reason) => Disposition::Review(reason),
            Untranslated::Stuck(reason) => Disposition::Stuck(reason.to_owned()),
        };
        Self {
            program_id,
            disposition,
            sale: None,
            payment: None,
            occurred_at: None,
            sale_awaits_session: false,
        }
    }
}

#[cfg(test)]
mod tests;
