//! From an event to what it means, one file an event family. Pure: the same event always means the same.
//!
//! A payment has many ids (session, payment intent, invoice, charge), and which of them an event knows depends on its type
//! and on the API version of the endpoint. So each tells all the ids it knows as [`Told::references`]; that they are one
//! payment is found out where the sales are.

mod account;
mod charge;
mod checkout;
mod commissionable;
mod dispute;
mod invoice;
mod invoice_payment;
mod refund;
mod subscription;

use common::domain::ids::ProgramId;
use common::domain::processor::ProcessorId;
use common::domain::sale::Sale;
use common::messages::payment::PaymentFact;

use super::event::{Event, Untranslatable};
use super::metadata::{Metadata, MetadataKeys};

/// Why an event tells nothing. The reasons are for the operator, and hold nothing of the event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Untold {
    /// It concerns nobody here.
    Ignored(&'static str),
    /// A person must look.
    Review(&'static str),
    /// It should tell something, and cannot be understood.
    Stuck(&'static str),
}

impl From<Untranslatable> for Untold {
    fn from(Untranslatable(reason): Untranslatable) -> Self {
        Self::Stuck(reason)
    }
}

/// What an event tells; at least one of sale, fact and two references.
#[derive(Debug, Clone, Default)]
pub struct Told {
    pub sale: Option<Sale>,
    /// The program its metadata names.
    pub program: Option<ProgramId>,
    /// The account it is about, where that is not only a matter of the envelope.
    pub account: Option<ProcessorId>,
    /// Names of one payment.
    pub references: Vec<ProcessorId>,
    pub fact: Option<PaymentFact>,
}

impl Told {
    /// Of a payment, beside its sale. One name alone says nothing.
    pub fn is_of_use(&self) -> bool {
        self.fact.is_some() || self.references.len() > 1
    }

    fn or_ignored(self, why: &'static str) -> Result<Self, Untold> {
        if self.sale.is_some() || self.is_of_use() {
            Ok(self)
        } else {
            Err(Untold::Ignored(why))
        }
    }
}

/// `None` for the types nobody here knows.
pub fn translate(event: &Event<'_>, keys: &MetadataKeys) -> Option<Result<Told, Untold>> {
    let told = match event.kind.as_str() {
        "checkout.session.completed" => checkout::completed(event, keys),
        "checkout.session.async_payment_succeeded" => checkout::paid_later(event, keys),
        "invoice.paid" | "invoice.payment_succeeded" => invoice::paid(event, keys),
        "invoice_payment.paid" => invoice_payment::paid(event),
        "charge.succeeded" => charge::succeeded(event),
        "charge.refunded" => charge::refunded(event, keys),
        "charge.refund.updated" => refund::updated(event),
        "refund.failed" => refund::failed(event),
        "charge.dispute.funds_withdrawn" => dispute::withdrawn(event),
        "charge.dispute.funds_reinstated" => dispute::reinstated(event),
        "customer.subscription.deleted" => subscription::deleted(event, keys),
        "account.updated" => account::updated(event),
        "account.application.deauthorized" => account::deauthorized(event),
        _ => return None,
    };
    Some(told)
}

/// The program that metadata names. A sale must not go to a program by mistake; for anything else the name is a hint.
fn named_program(
    sale: Option<&Sale>,
    keys: &MetadataKeys,
    sources: &[&Metadata],
) -> Result<Option<ProgramId>, Untranslatable> {
    let named = keys.program(sources);
    if sale.is_some() {
        named
    } else {
        Ok(named.unwrap_or_default())
    }
}

#[cfg(test)]
mod tests;
