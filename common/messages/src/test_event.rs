//! `tracking.test_events`: one record a test event; the edge waits for its [`TestEventOutcome`].
//!
//! Test events have a stream of their own. What earns, counts and attributes never reads it, so a test cannot become a
//! real event by any mistake in between.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use domain::click::Visit;
use domain::ids::{EventId, ProgramId, ReferralLinkId};
use domain::money::{AmountCents, Currency};
use domain::sale::{SaleType, SubscriptionInterval};
use domain::text::{CustomerKey, Label, ProductId, SubscriptionId, TransactionId};
use domain::visitor::{ClientIp, CountryCode};

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct TestEventRecord {
    pub event_id: EventId,
    pub happened_at: DateTime<Utc>,
    pub program_id: ProgramId,
    pub event: TestEvent,
}

/// A test event, validated in form only: its customers may not exist.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TestEvent {
    Click(TestClick),
    Lead(TestLead),
    Sale(Box<TestSale>),
}

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct TestClick {
    /// `None` when the link is unknown, or of another program than the one tested.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub referral_link_id: Option<ReferralLinkId>,
    #[serde(default)]
    pub visit: Visit,
    /// As on a real click: for the GeoIP lookup only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_ip: Option<ClientIp>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub country_hint: Option<CountryCode>,
}

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct TestLead {
    /// As sent: a test needs no click before it, so this may be any click_id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub click_id: Option<Label>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub customer_key: Option<CustomerKey>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub event_name: Option<Label>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct TestSale {
    /// Never claimed: it collides neither with a real sale's nor with another test's.
    pub transaction_id: TransactionId,
    /// `None` when the test named no amount; stored as 0.
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
    /// JSON object or array, stored as sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line_items: Option<Box<RawValue>>,
}

/// Where the event is now.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct TestEventOutcome {
    /// The row's `id` in `click_events`, `lead_events` or `sale_events`; answered as `eventId`.
    pub row_id: i64,
}
