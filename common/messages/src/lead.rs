//! `tracking.leads`: one record for each lead. Ingest waits for its [`LeadOutcome`].

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use domain::ids::EventId;
use domain::tracking::lead::{Lead, LeadRefusal};

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct LeadRecord {
    pub event_id: EventId,
    pub led_at: DateTime<Utc>,
    pub lead: Lead,
    /// The lead came from a browser and was one of many from its address within an hour.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub one_of_many: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LeadOutcome {
    Tracked,
    Provisional,
    Refused(LeadRefusal),
}
