//! `invoice.paid` and `invoice.payment_succeeded`: a subscription's first payment or renewal. Stripe sends
//! both for one payment; they share the invoice's id, so they become one sale.
//!
//! Up to API version 2025-02 ("acacia") an invoice itself names its subscription, payment intent and charge.
//! Since 2025-03-31 ("basil") the subscription is in the invoice's parent, and `invoice_payment.paid` reports
//! the payments.

use chrono::{DateTime, Utc};
use domain::money::{AmountCents, CommissionableCents};
use domain::processors::processor::ProcessorId;
use domain::tracking::sale::{Sale, SaleType};
use messages::payment::PaymentFact;
use serde::Deserialize;

use super::commissionable::{ShippingCost, Tax, commissionable, sum};
use super::{Buyer, TranslatedEvent, Untranslated, named_program, one_off, sale_to};
use crate::stripe::event::{Event, Reference, Untranslatable, amount, ids};
use crate::stripe::metadata::{Metadata, MetadataKeys};

const NO_PAYMENT: &str = "no payment of a customer of ours";
const FIRST: &str = "subscription_create";

#[derive(Deserialize)]
struct Invoice {
    id: ProcessorId,
    amount_paid: i64,
    total: Option<i64>,
    total_excluding_tax: Option<i64>,
    shipping_cost: Option<ShippingCost>,
    currency: String,
    status_transitions: Option<StatusTransitions>,
    customer: Option<Reference>,
    billing_reason: Option<String>,
    metadata: Option<Metadata>,
    lines: Option<Lines>,
    // Only up to "acacia":
    subscription: Option<Reference>,
    subscription_details: Option<SubscriptionDetails>,
    payment_intent: Option<Reference>,
    charge: Option<Reference>,
    tax: Option<i64>,
    // Only since "basil":
    total_taxes: Option<Vec<Tax>>,
    parent: Option<Parent>,
}

#[derive(Deserialize)]
struct StatusTransitions {
    paid_at: Option<i64>,
}

#[derive(Deserialize)]
struct Parent {
    subscription_details: Option<SubscriptionDetails>,
}

#[derive(Deserialize)]
struct SubscriptionDetails {
    metadata: Option<Metadata>,
    /// Present since Stripe's API version "basil".
    subscription: Option<Reference>,
}

#[derive(Deserialize)]
struct Lines {
    #[serde(default)]
    data: Vec<Line>,
}

#[derive(Deserialize)]
struct Line {
    metadata: Option<Metadata>,
    /// Only up to "acacia".
    price: Option<Price>,
    /// Only since "basil".
    pricing: Option<Pricing>,
    amount: Option<i64>,
}

impl Line {
    fn product(&self) -> Option<&Reference> {
        let price = self
            .pricing
            .as_ref()
            .and_then(|pricing| pricing.price_details.as_ref());
        price.or(self.price.as_ref())?.product.as_ref()
    }

    /// False for a credit for an unused period.
    fn is_charged(&self) -> bool {
        self.amount.is_some_and(|amount| amount > 0)
    }
}

#[derive(Deserialize)]
struct Price {
    product: Option<Reference>,
}

#[derive(Deserialize)]
struct Pricing {
    price_details: Option<Price>,
}

pub fn paid(event: &Event<'_>, keys: &MetadataKeys) -> Result<TranslatedEvent, Untranslated> {
    let invoice: Invoice = event.object()?;
    let sources = invoice.metadata();
    let paid = amount(invoice.amount_paid)?;
    let buyer = Buyer::read(keys, &sources, None, invoice.customer.as_ref());
    let (buyer, sale) = sale_to(buyer, paid, |paid, buyer| invoice.sale(paid, buyer))?;
    let translated = TranslatedEvent {
        program: named_program(sale.as_ref(), keys, &sources)?,
        references: std::iter::once(invoice.id.clone())
            .chain(ids([invoice.payment_intent.as_ref(), invoice.charge.as_ref()]))
            .collect(),
        fact: invoice.start_without_payment(paid),
        customer: buyer.named(),
        occurred_at: invoice.paid_at(event),
        sale,
        ..TranslatedEvent::default()
    };
    translated.or_ignored(NO_PAYMENT)
}

impl Invoice {
    /// A trial or a full discount starts a subscription without a sale. Its renewals need not wait for a
    /// first sale.
    fn start_without_payment(&self, paid: Option<AmountCents>) -> Option<PaymentFact> {
        let subscription = self
            .subscription()
            .filter(|_| paid.is_none() && self.is_first())?;
        Some(PaymentFact::SubscriptionStarted {
            subscription_id: subscription.0.clone(),
        })
    }

    fn is_first(&self) -> bool {
        self.billing_reason.as_deref() == Some(FIRST)
    }

    fn parent_details(&self) -> Option<&SubscriptionDetails> {
        self.parent.as_ref()?.subscription_details.as_ref()
    }

    fn subscription(&self) -> Option<&Reference> {
        self.parent_details()
            .and_then(|details| details.subscription.as_ref())
            .or(self.subscription.as_ref())
    }

    fn lines(&self) -> &[Line] {
        self.lines.as_ref().map_or(&[], |lines| &lines.data)
    }

    /// The metadata that may name the customer, most specific first. Without a subscription only the
    /// invoice's own metadata counts.
    fn metadata(&self) -> Vec<&Metadata> {
        let own = self.metadata.as_ref();
        if self.subscription().is_none() {
            return own.into_iter().collect();
        }
        let parent = self
            .parent_details()
            .and_then(|details| details.metadata.as_ref());
        let details = self
            .subscription_details
            .as_ref()
            .and_then(|details| details.metadata.as_ref());
        let line = self.lines().first().and_then(|line| line.metadata.as_ref());
        [parent, details, line, own].into_iter().flatten().collect()
    }

    /// The first charged line decides: an upgrade's invoice begins with a credit for the unused part of the
    /// previous plan.
    fn product(&self) -> Option<&Reference> {
        let charged = self.lines().iter().filter(|line| line.is_charged());
        charged.chain(self.lines()).find_map(Line::product)
    }

    /// The time of the payment. The events' own times differ: `invoice.paid` and `invoice.payment_succeeded`
    /// may be sent in different seconds.
    fn paid_at(&self, event: &Event<'_>) -> Option<DateTime<Utc>> {
        let paid_at = self.status_transitions.as_ref()?.paid_at?;
        let paid_at = DateTime::from_timestamp(paid_at, 0)?;
        (paid_at > DateTime::UNIX_EPOCH && paid_at < event.created).then_some(paid_at)
    }

    fn commissionable(&self, paid: AmountCents) -> Option<CommissionableCents> {
        let total = self.total?;
        let tax = match (self.total_excluding_tax, &self.total_taxes) {
            (Some(excluding_tax), _) => total.saturating_sub(excluding_tax),
            (None, Some(taxes)) => sum(taxes),
            (None, None) => self.tax.unwrap_or_default(),
        };
        let shipping = self.shipping_cost.as_ref().map_or(0, ShippingCost::without_tax);
        commissionable(paid, total, tax.saturating_add(shipping))
    }

    fn sale(&self, paid: AmountCents, buyer: &Buyer) -> Result<Sale, Untranslatable> {
        let subscription = self.subscription();
        Ok(Sale {
            commissionable: self.commissionable(paid),
            sale_type: if subscription.is_some() {
                SaleType::Subscription
            } else {
                SaleType::Payment
            },
            is_recurring: subscription.is_some() && !self.is_first(),
            subscription_id: subscription.map(|subscription| subscription.0.clone()),
            product_id: self.product().map(|product| product.0.clone()),
            ..one_off(self.id.clone(), paid, &self.currency, buyer)?
        })
    }
}
