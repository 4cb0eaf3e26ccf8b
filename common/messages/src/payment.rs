//! `tracking.payments`: reports of the payment processor about a payment, a subscription or its account,
//! except sales. They have no outcome.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use domain::ids::{EventId, ProgramId};
use domain::money::{AmountCents, Currency};
use domain::processors::payer::NamedCustomer;
use domain::processors::processor::ProcessorId;
use domain::text::SubscriptionId;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PaymentRecord {
    /// The id of the event's row in `processor_events`.
    pub event_id: EventId,
    /// The time by the processor's clock.
    pub occurred_at: DateTime<Utc>,
    pub program_id: ProgramId,
    /// Names of one payment: of a session, payment intent, invoice or charge. Empty if the fact concerns no
    /// payment.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub references: Vec<ProcessorId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fact: Option<PaymentFact>,
    /// The binding of the processor's customer, if the event has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub customer: Option<NamedCustomer>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PaymentFact {
    /// The total refunded of a charge so far.
    Refunded {
        charge: ProcessorId,
        refunded: AmountCents,
        currency: Currency,
    },
    /// Money withdrawn because the customer disputed the charge, in addition to refunds.
    Disputed {
        dispute: ProcessorId,
        withdrawn: AmountCents,
        currency: Currency,
    },
    /// A subscription started without a payment, by a trial or a full discount.
    SubscriptionStarted {
        subscription_id: SubscriptionId,
    },
    SubscriptionEnded {
        subscription_id: SubscriptionId,
    },
    Account {
        connected: bool,
        charges_enabled: bool,
        payouts_enabled: bool,
        details_submitted: bool,
    },
}
