//! `tracking.test_events`: one record for each test event. Ingest waits for its [`TestEventOutcome`].
//!
//! Test events have their own stream. Steps that earn, count or attribute never read it, so no mistake can
//! turn a test into a real event.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use domain::ids::{EventId, ProgramId, ReferralLinkId};
use domain::money::{AmountCents, Currency};
use domain::text::{CustomerKey, Label, ProductId, SubscriptionId, TransactionId};
use domain::tracking::click::Visit;
use domain::tracking::sale::{SaleType, SubscriptionInterval};
use domain::tracking::visitor::{ClientIp, CountryCode};

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct TestEventRecord {
    pub event_id: EventId,
    pub happened_at: DateTime<Utc>,
    pub program_id: ProgramId,
    pub event: TestEvent,
}

/// A test event, valid in form. Its customers may not exist.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TestEvent {
    Click(TestClick),
    Lead(TestLead),
    Sale(Box<TestSale>),
}

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct TestClick {
    /// `None` if the link is unknown or belongs to another program.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub referral_link_id: Option<ReferralLinkId>,
    #[serde(default)]
    pub visit: Visit,
    /// As on a real click, only for the GeoIP lookup.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_ip: Option<ClientIp>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub country_hint: Option<CountryCode>,
}

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct TestLead {
    /// As sent. A test needs no earlier click, so this may be any click_id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub click_id: Option<Label>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub customer_key: Option<CustomerKey>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub event_name: Option<Label>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct TestSale {
    /// Never claimed, so it conflicts neither with real sales nor with other tests.
    pub transaction_id: TransactionId,
    /// `None` if the test has no amount; stored as 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub amount: Option<AmountCents>,
    pub currency: Currency,
    pub sale_type: SaleType,
    pub is_recurring: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subscription_id: Option<SubscriptionId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subscription_interval: Option<SubscriptionInterval>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub product_id: Option<ProductId>,
    /// A JSON object or array, stored as sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line_items: Option<Box<RawValue>>,
}

/// The row of the stored event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct TestEventOutcome {
    /// The row's `id` in `click_events`, `lead_events` or `sale_events`. The answer calls it `eventId`.
    pub row_id: i64,
}
