//! Translates events into sales and facts, one file for each family of events. Pure.
//!
//! A payment has many ids (session, payment intent, invoice, charge). The event's type and the endpoint's API
//! version decide which of them an event contains. So each event reports all its ids as
//! [`TranslatedEvent::references`], and the worker joins those of one payment.

mod account;
mod charge;
mod checkout;
mod commissionable;
mod customer;
mod dispute;
mod invoice;
mod invoice_payment;
mod payment_intent;
mod refund;
mod subscription;

use chrono::{DateTime, Utc};
use domain::ids::ProgramId;
use domain::money::AmountCents;
use domain::processors::payer::{NamedCustomer, Payer};
use domain::processors::processor::ProcessorId;
use domain::text::CustomerKey;
use domain::tracking::click_id::ClickId;
use domain::tracking::sale::{Sale, SaleType};
use messages::payment::PaymentFact;

use super::event::{Event, Reference, Untranslatable, currency};
use super::metadata::{Metadata, MetadataKeys};

/// Why an event was not translated. The reasons are for the operator, and contain no data of the event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Untranslated {
    /// The event concerns no program or customer of ours.
    Ignored(&'static str),
    /// The event needs review by a person.
    Review(&'static str),
    /// We handle the type, but this event is malformed or inconsistent.
    Stuck(&'static str),
}

impl From<Untranslatable> for Untranslated {
    fn from(Untranslatable(reason): Untranslatable) -> Self {
        Self::Stuck(reason)
    }
}

/// A translated event. It has a sale, a fact, a named customer or two references, or several of these.
#[derive(Debug, Clone, Default)]
pub struct TranslatedEvent {
    pub sale: Option<Sale>,
    /// Binds the processor's customer to ours.
    pub customer: Option<NamedCustomer>,
    /// A session or an invoice may add to the sale: tax, product, subscription.
    pub sale_awaits_session: bool,
    /// The time of the payment by the processor's clock, if it differs from the event's time.
    pub occurred_at: Option<DateTime<Utc>>,
    /// The program that the metadata names.
    pub program: Option<ProgramId>,
    /// The account that the event's object names. Otherwise the envelope names it.
    pub account: Option<ProcessorId>,
    /// The ids of one payment.
    pub references: Vec<ProcessorId>,
    pub fact: Option<PaymentFact>,
}

impl TranslatedEvent {
    /// Whether the event has an effect besides its sale. A single id of a payment has none.
    pub fn is_of_use(&self) -> bool {
        self.fact.is_some() || self.customer.is_some() || self.references.len() > 1
    }

    fn or_ignored(self, why: &'static str) -> Result<Self, Untranslated> {
        if self.sale.is_some() || self.is_of_use() {
            Ok(self)
        } else {
            Err(Untranslated::Ignored(why))
        }
    }
}

/// The customer who paid or was meant to pay.
#[derive(Debug, Clone, Default)]
struct Buyer {
    payer: Option<Payer>,
    processor_customer: Option<ProcessorId>,
}

impl Buyer {
    /// `reference` is the merchant's own reference (`client_reference_id`), if the event has one.
    fn read(
        keys: &MetadataKeys,
        sources: &[&Metadata],
        reference: Option<&str>,
        processor_customer: Option<&Reference>,
    ) -> Result<Self, Untranslatable> {
        let by_reference = reference.and_then(Payer::from_reference);
        let payer = match (keys.payer(sources)?, by_reference) {
            // A click_id together with a customer_key can take a key that only a browser has bound. So the
            // click_id counts, whether the metadata or the reference has it.
            (Some(metadata), Some(reference)) if metadata.click_id.is_none() => Some(Payer {
                click_id: reference.click_id,
                ..metadata
            }),
            (metadata, reference) => metadata.or(reference),
        };
        Ok(Self {
            payer,
            processor_customer: processor_customer.map(|customer| customer.0.clone()),
        })
    }

    /// Returns `None` if the event has no id of the customer.
    fn known(&self) -> Option<&Self> {
        (self.payer.is_some() || self.processor_customer.is_some()).then_some(self)
    }

    fn click_id(&self) -> Option<ClickId> {
        self.payer.as_ref()?.click_id.clone()
    }

    fn customer_key(&self) -> Option<CustomerKey> {
        self.payer.as_ref()?.customer_key.clone()
    }

    fn named(self) -> Option<NamedCustomer> {
        Some(NamedCustomer {
            processor_customer: self.processor_customer?,
            payer: self.payer?,
        })
    }
}

/// Returns `None` for unknown event types.
pub fn translate(event: &Event<'_>, keys: &MetadataKeys) -> Option<Result<TranslatedEvent, Untranslated>> {
    let translated = match event.kind.as_str() {
        "checkout.session.completed" => checkout::completed(event, keys),
        "checkout.session.async_payment_succeeded" => checkout::paid_later(event, keys),
        "invoice.paid" | "invoice.payment_succeeded" => invoice::paid(event, keys),
        "invoice_payment.paid" => invoice_payment::paid(event),
        "payment_intent.succeeded" => payment_intent::succeeded(event, keys),
        "charge.succeeded" | "charge.captured" => charge::succeeded(event, keys),
        "charge.refunded" => charge::refunded(event, keys),
        "charge.refund.updated" => refund::updated(event),
        "refund.failed" => refund::failed(event),
        "charge.dispute.funds_withdrawn" => dispute::withdrawn(event),
        "charge.dispute.funds_reinstated" => dispute::reinstated(event),
        "customer.created" | "customer.updated" => customer::named(event, keys),
        "customer.subscription.created" | "customer.subscription.updated" => subscription::named(event, keys),
        "customer.subscription.deleted" => subscription::deleted(event, keys),
        "account.updated" => account::updated(event),
        "account.application.deauthorized" => account::deauthorized(event),
        _ => return None,
    };
    Some(translated)
}

/// The sale of a payment, if the event names its customer. Malformed metadata is an error only if there is a
/// payment, because nothing else depends on its customer.
fn sale_to(
    buyer: Result<Buyer, Untranslatable>,
    paid: Option<AmountCents>,
    sale: impl FnOnce(AmountCents, &Buyer) -> Result<Sale, Untranslatable>,
) -> Result<(Buyer, Option<Sale>), Untranslatable> {
    let Some(paid) = paid else {
        return Ok((buyer.unwrap_or_default(), None));
    };
    let buyer = buyer?;
    let sale = buyer.known().map(|buyer| sale(paid, buyer)).transpose()?;
    Ok((buyer, sale))
}

/// A sale without a subscription, of which only the amount is known.
fn one_off(
    transaction_id: ProcessorId,
    paid: AmountCents,
    currency_code: &str,
    buyer: &Buyer,
) -> Result<Sale, Untranslatable> {
    Ok(Sale {
        transaction_id,
        amount: paid,
        commissionable: None,
        currency: currency(currency_code)?,
        customer_key: buyer.customer_key(),
        click_id: buyer.click_id(),
        processor_customer: buyer.processor_customer.clone(),
        sale_type: SaleType::Payment,
        is_recurring: false,
        subscription_id: None,
        subscription_interval: None,
        product_id: None,
        line_items: None,
    })
}

/// The program that the metadata names. With a sale, a malformed id is an error, because the sale must not go
/// to the wrong program. Without a sale it is ignored.
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
