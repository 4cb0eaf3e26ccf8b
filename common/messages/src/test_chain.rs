//! `tracking.test_chains`: one record for each test run. Ingest waits for its [`TestChainOutcome`].

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use domain::ids::{CustomerId, EventId, ProgramId};
use domain::text::{CustomerKey, TransactionId};
use domain::tracking::click_id::ClickId;
use domain::tracking::test_chain::{ChainVerdict, TestRun};

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct TestChainRecord {
    pub event_id: EventId,
    pub started_at: DateTime<Utc>,
    pub program_id: ProgramId,
    /// The synthetic customer. The id comes from the same block as real ones and is never stored.
    pub customer_id: CustomerId,
    pub click_id: ClickId,
    pub customer_key: CustomerKey,
    /// Names the test sale, which is rolled back; never stored.
    pub transaction_id: TransactionId,
    pub run: TestRun,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TestChainOutcome {
    Chain {
        /// The link of the test click; `None` if the program has no usable link.
        short_code: Option<String>,
        verdict: ChainVerdict,
    },
    Event {
        /// False if the program has no link for a test click.
        received: bool,
    },
}
