//! `tracking.clicks`: one record for each click, which ingest publishes before it answers.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use domain::ids::{CustomerId, EventId, ProgramId, ReferralLinkId};
use domain::text::Label;
use domain::tracking::click::Visit;
use domain::tracking::click_id::ClickId;
use domain::tracking::visitor::{ClientIp, CountryCode};

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ClickRecord {
    pub event_id: EventId,
    pub clicked_at: DateTime<Utc>,
    pub program_id: ProgramId,
    pub referral_link_id: ReferralLinkId,
    pub customer_id: CustomerId,
    pub click_id: ClickId,
    /// False when the visitor's existing customer is reused.
    pub new_customer: bool,
    /// A click_id that the visitor held and that could not be reused. It is untrusted and kept for audit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub previous_click_id: Option<Label>,
    #[serde(default)]
    pub visit: Visit,
    /// Only set with a GeoIP database, and only for the lookup: never stored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_ip: Option<ClientIp>,
    /// The visitor's country according to a trusted proxy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub country_hint: Option<CountryCode>,
}
