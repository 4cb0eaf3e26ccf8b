//! Sales become sale events, commissions and ledger entries.
//!
//! Phases, each a type:
//!
//! 1. *[`Locked`]*: the claims of the batch. Only the record that holds its claim is processed, so copies and
//!    earlier attempts have no effect.
//! 2. *[`Resolved`](decided::Resolved)*: the customers, found and locked.
//! 3. *[`Decided`](decided::Decided)*: one decision per record, each seeing the effects of the ones before it
//!    ([`batch`]).
//! 4. *written*: the rows ([`rows`]); then parked refunds and the processor's reversals of the new sales
//!    ([`refunds`]); then the processor's inbox ([`inbox`]); then outbound events ([`outbound`]). All in one
//!    transaction.
//!
//! Sales are decided as of their own time, and may arrive in another order: when a sale arrives after later
//! ones of its customer, those are decided again ([`reassessment`](crate::reassessment)). Concurrent calls
//! keep the order of their decisions ([`order`]).
//!
//! A payment has many names at its processor, and is one sale: a record whose payment is recorded under
//! another name is a duplicate ([`payment_match`]). The payment step handles names that become known too
//! late.
//!
//! A refusal releases the claim, so that a corrected call can follow. A second delivery of a recorded sale
//! gets the same outcome, read back from its rows.

mod batch;
mod decided;
mod inbox;
mod locked;
mod order;
mod outbound;
mod payers;
mod payment_match;
mod refunds;
mod rows;

use std::collections::HashSet;

use bus::consume::{Delivered, StepError};
use domain::ids::EventId;
use messages::sale::{SaleOutcome, SaleRecord};
use messages::subject::Subject;
use sqlx::PgConnection;
use storage::StorageResult;

use self::decided::Written;
use self::locked::{Locked, Waits};
use super::StepContext;
use super::transaction::{BatchResult, TransactionalStep, records, replies};
use crate::customer_lookup::settled_before;

#[derive(Debug)]
pub struct SaleStep(pub StepContext);

impl TransactionalStep for SaleStep {
    type Record = SaleRecord;
    /// Events that no longer wait for their click or for a lead.
    type Prepared = HashSet<EventId>;
    type Outcome = SaleOutcome;
    const SUBJECT: Subject = Subject::Sales;

    async fn prepare(&self, batch: &[Delivered<SaleRecord>]) -> Result<HashSet<EventId>, StepError> {
        let backlogs = [&self.0.clicks, &self.0.leads.backlog];
        Ok(settled_before(&backlogs, batch).await)
    }

    async fn process(
        &self,
        connection: &mut PgConnection,
        batch: &[Delivered<SaleRecord>],
        waited: HashSet<EventId>,
    ) -> StorageResult<BatchResult<SaleOutcome>> {
        let written = self.record(connection, &records(batch), &waited).await?;
        let refunds = &written.parked_refunds;
        let waiting = refunds
            .waiting
            .iter()
            .map(|(event_id, reply_to)| (*event_id, reply_to.as_ref()));
        Ok(BatchResult {
            replies: replies(waiting, &refunds.outcomes)?,
            outbox_filled: !refunds.outcomes.is_empty() || written.reversals > 0,
            later: written.later,
            ..BatchResult::of(written.outcomes)
        })
    }
}

impl SaleStep {
    /// The events in `waited` wait no longer.
    pub(super) async fn record(
        &self,
        connection: &mut PgConnection,
        records: &[&SaleRecord],
        waited: &HashSet<EventId>,
    ) -> StorageResult<Written> {
        let named = payers::named(connection, records).await?;
        let records: Vec<&SaleRecord> = records
            .iter()
            .map(|record| named.get(&record.event_id).unwrap_or(record))
            .collect();
        let waits = Waits {
            waited,
            leads_are_late: self.0.leads.behind(),
        };
        let locked = Locked::open(connection, &records, self.0.clock.now()).await?;
        let resolved = locked.resolve(connection, &self.0.codec, waits).await?;
        let decided = resolved.decide(&self.0.signal_rules);
        decided.write(connection, &self.0).await
    }
}
