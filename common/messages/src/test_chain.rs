//! `tracking.test_chains`: one record a test run; the edge waits for its [`TestChainOutcome`].

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use domain::click_id::ClickId;
use domain::ids::{CustomerId, EventId, ProgramId};
use domain::test_chain::{ChainVerdict, TestRun};
use domain::text::{CustomerKey, TransactionId};

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct TestChainRecord {
    pub event_id: EventId,
    pub started_at: DateTime<Utc>,
    pub program_id: ProgramId,
    /// The synthetic customer: from the same block of ids as real ones, and never stored.
    pub customer_id: CustomerId,
    pub click_id: ClickId,
    pub customer_key: CustomerKey,
    /// Names the sale that is taken back; never stored.
    pub transaction_id: TransactionId,
    pub run: TestRun,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TestChainOutcome {
    Chain {
        /// The link that was used; `None` when the program has none that could be.
        short_code: Option<String>,
        verdict: ChainVerdict,
    },
    Event {
        /// False when there is no link a test click could have come through.
        received: bool,
    },
}
