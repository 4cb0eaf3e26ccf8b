//! `checkout.session.completed` and `checkout.session.async_payment_succeeded`: a one-off payment.
//!
//! A subscription's session and first invoice report the same payment; the invoice becomes the sale.

use domain::money::AmountCents;
use domain::processors::processor::ProcessorId;
use domain::tracking::sale::Sale;
use serde::Deserialize;

use super::commissionable::{ShippingCost, commissionable};
use super::{Buyer, TranslatedEvent, Untranslated, named_program, one_off, sale_to};
use crate::stripe::event::{Event, Reference, Untranslatable, amount, ids};
use crate::stripe::metadata::{Metadata, MetadataKeys};

const NO_PAYMENT: &str = "no payment of a customer of ours";

#[derive(Deserialize)]
struct Session {
    id: ProcessorId,
    mode: String,
    payment_status: String,
    payment_intent: Option<Reference>,
    invoice: Option<Reference>,
    customer: Option<Reference>,
    client_reference_id: Option<String>,
    amount_total: Option<i64>,
    total_details: Option<TotalDetails>,
    shipping_cost: Option<ShippingCost>,
    currency: Option<String>,
    metadata: Option<Metadata>,
}

#[derive(Deserialize)]
struct TotalDetails {
    amount_tax: Option<i64>,
    amount_shipping: Option<i64>,
}

/// The session was paid at once, or is still unpaid.
pub fn completed(event: &Event<'_>, keys: &MetadataKeys) -> Result<TranslatedEvent, Untranslated> {
    let session: Session = event.object()?;
    let is_paid = session.payment_status == "paid";
    session.meaning(is_paid, keys)
}

/// The session was paid later, by a delayed method such as a bank transfer.
pub fn paid_later(event: &Event<'_>, keys: &MetadataKeys) -> Result<TranslatedEvent, Untranslated> {
    event.object::<Session>()?.meaning(true, keys)
}

impl Session {
    fn meaning(self, is_paid: bool, keys: &MetadataKeys) -> Result<TranslatedEvent, Untranslated> {
        let sources: Vec<&Metadata> = self.metadata.iter().collect();
        let paid = match self.amount_total {
            Some(cents) if is_paid && self.mode == "payment" => amount(cents)?,
            _ => None,
        };
        let reference = self.client_reference_id.as_deref();
        let buyer = Buyer::read(keys, &sources, reference, self.customer.as_ref());
        let (buyer, sale) = sale_to(buyer, paid, |paid, buyer| self.sale(paid, buyer))?;
        let translated = TranslatedEvent {
            program: named_program(sale.as_ref(), keys, &sources)?,
            references: std::iter::once(self.id.clone())
                .chain(ids([self.invoice.as_ref(), self.payment_intent.as_ref()]))
                .collect(),
            customer: buyer.named(),
            sale,
            ..TranslatedEvent::default()
        };
        translated.or_ignored(NO_PAYMENT)
    }

    /// With tax-inclusive prices `amount_shipping` includes its tax, which must not be subtracted twice.
    fn tax_and_shipping(&self) -> i64 {
        let details = self.total_details.as_ref();
        let tax = details.and_then(|details| details.amount_tax).unwrap_or_default();
        let shipping = match &self.shipping_cost {
            Some(cost) => cost.without_tax(),
            None => details
                .and_then(|details| details.amount_shipping)
                .unwrap_or_default(),
        };
        tax.saturating_add(shipping)
    }

    /// The transaction_id is the invoice's id if there is one, because the invoice's own events report the
    /// same payment.
    fn sale(&self, paid: AmountCents, buyer: &Buyer) -> Result<Sale, Untranslatable> {
        let transaction_id = ids([self.invoice.as_ref(), self.payment_intent.as_ref()])
            .next()
            .unwrap_or_else(|| self.id.clone());
        let code = self.currency.as_deref().unwrap_or_default();
        Ok(Sale {
            commissionable: commissionable(paid, paid.get(), self.tax_and_shipping()),
            ..one_off(transaction_id, paid, code, buyer)?
        })
    }
}
