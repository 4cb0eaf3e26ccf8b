//! Turns an event into the same claim and messages as an API call would.

use bus::publish::Publisher;
use chrono::{DateTime, Utc};
use domain::ids::{EventId, ProgramId};
use domain::tracking::sale::Sale;
use messages::payment::PaymentRecord;
use messages::sale::SaleRecord;
use runtime::trace;
use serde_json::value::{RawValue, to_raw_value};
use storage::tracking::claims::NewClaim;

use crate::stripe::recipients::Payment;

/// The records of an event for one program. The same event always gives the same records, so publishing them
/// again has no effect.
#[derive(Debug, Clone, Default)]
pub struct Records {
    pub sale: Option<ClaimedSale>,
    pub payment: Option<Box<RawValue>>,
}

#[derive(Debug, Clone)]
pub struct ClaimedSale {
    pub claim: NewClaim,
    pub record: Box<RawValue>,
}

impl Records {
    /// `occurred_at` is the time of the payment by the processor's clock, so that the order of arrival does
    /// not matter.
    pub fn new(
        event_id: EventId,
        program_id: ProgramId,
        occurred_at: DateTime<Utc>,
        sale: Option<Sale>,
        payment: Option<Payment>,
    ) -> serde_json::Result<Self> {
        let sale = sale.map(|sale| {
            let transaction_id = sale.transaction_id.clone();
            let record = to_raw_value(&SaleRecord {
                event_id,
                sold_at: occurred_at,
                program_id,
                sale,
                from_processor: true,
            })
            .map(trace::attach)?;
            let claim = NewClaim {
                transaction_id: transaction_id.into(),
                program_id,
                event_id,
                reply_to: None,
                payload: record.get().to_owned(),
            };
            Ok(ClaimedSale { claim, record })
        });
        let payment = payment.map(|payment| {
            to_raw_value(&PaymentRecord {
                event_id,
                occurred_at,
                program_id,
                references: payment.references,
                fact: payment.fact,
                customer: payment.customer,
            })
            .map(trace::attach)
        });
        Ok(Self {
            sale: sale.transpose()?,
            payment: payment.transpose()?,
        })
    }
}

#[derive(Debug, Default)]
pub struct Outgoing {
    pub sales: Vec<Box<RawValue>>,
    pub payments: Vec<Box<RawValue>>,
}

/// Publishers of the streams that take the records of events.
#[derive(Debug, Clone)]
pub struct Streams {
    pub sales: Publisher,
    pub payments: Publisher,
}

impl Streams {
    /// If publishing fails, the claim or the event stays open, and a relay publishes the record later.
    pub async fn publish(&self, outgoing: &Outgoing) {
        tokio::join!(
            publish(&self.sales, "sales", &outgoing.sales),
            publish(&self.payments, "payments", &outgoing.payments),
        );
    }
}

async fn publish(publisher: &Publisher, noun: &'static str, records: &[Box<RawValue>]) {
    if records.is_empty() {
        return;
    }
    if let Err(error) = publisher.publish_packed(records, None).await {
        tracing::warn!(%error, noun, records = records.len(), "publish failed, the relay takes over");
    }
}
