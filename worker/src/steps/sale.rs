//! Sales become sale events, commissions and ledger entries.
//!
//! Phases: **claims**, locked: only the record that holds the claim is processed, whatever copies of it or of earlier
//! attempts arrive → **customers**, resolved and locked → **decisions**, record by record, each seeing what the ones
//! before it did ([`desk`]) → **rows** ([`rows`]) → **parked refunds** of the sales just recorded, in the same transaction.
//!
//! A refusal releases the claim, so that a corrected call can follow. A sale that was recorded by an earlier
//! delivery gets the same outcome again, read back from its rows.

mod desk;
mod rows;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use common::bus::consume::{DeadLetter, Delivered, Processed, Step, StepError, Verdict};
use common::domain::attribution::AttributionModel;
use common::domain::ids::{EventId, SaleId};
use common::domain::sale::SaleDecision;
use common::messages::refund::{RefundOutcome, RefundRecord};
use common::messages::sale::{SaleOutcome, SaleRecord};
use common::messages::subject::Subject;
use common::storage::claims::{self, ClaimState};
use common::storage::refunds::{self, ParkedRefund};
use common::storage::rollups::Deltas;
use common::storage::{StorageResult, programs, sales};
use sqlx::PgConnection;

use self::desk::{Desk, Judged};
use super::refund::{self, remember_refusals, settle};
use super::{StepContext, reply, storage_failed};
use crate::customer_lookup::{Reference, resolve};

#[derive(Debug)]
pub struct SaleStep(pub StepContext);

/// What one batch came to.
#[derive(Default)]
pub(super) struct Batch {
    pub(super) outcomes: HashMap<EventId, SaleOutcome>,
    /// Records that wait for their click.
    later: HashSet<EventId>,
    parked: Vec<(EventId, Option<Arc<str>>)>,
    refunds: refund::Outcomes,
}

impl Step for SaleStep {
    type Record = SaleRecord;
    const SUBJECT: Subject = Subject::Sales;

    async fn run(&self, batch: &[Delivered<SaleRecord>]) -> Result<Processed, StepError> {
        let records: Vec<&SaleRecord> = batch.iter().map(|delivered| &delivered.record).collect();
        let mut transaction = self.0.pool.begin().await.map_err(storage_failed)?;
        let done = self
            .record(&mut transaction, &records)
            .await
            .map_err(storage_failed)?;
        transaction.commit().await.map_err(storage_failed)?;
        if !done.refunds.is_empty() {
            self.0.outbox_filled.notify_one();
        }
        let mut processed = Processed::default();
        for delivered in batch {
            let event_id = delivered.record.event_id;
            processed.verdicts.push(if done.later.contains(&event_id) {
                Verdict::Later
            } else {
                Verdict::Done
            });
            if let Some(outcome) = done.outcomes.get(&event_id) {
                processed
                    .replies
                    .extend(reply(delivered.reply_to.as_ref(), event_id, outcome)?);
            }
        }
        let waiting = done
            .parked
            .iter()
            .map(|(event_id, reply_to)| (*event_id, reply_to.as_ref()));
        processed.replies.extend(refund::replies(waiting, &done.refunds)?);
        Ok(processed)
    }

    async fn bury(&self, letter: DeadLetter) -> Result<(), StepError> {
        self.0.bury(&letter).await
    }
}

impl SaleStep {
    pub(super) async fn record(
        &self,
        connection: &mut PgConnection,
        records: &[&SaleRecord],
    ) -> StorageResult<Batch> {
        let Claimed { mine, recorded } = claimed(connection, records).await?;
        let mut batch = Batch {
            outcomes: repeated(connection, &recorded).await?,
            ..Batch::default()
        };
        let references: Vec<Reference<'_>> = mine.iter().map(|record| reference(record)).collect();
        let found = resolve(connection, &self.0.codec, &references).await?;
        let mut desk = Desk::open(connection, &mine, &found).await?;
        let (mut kept, mut refused) = (Vec::new(), Vec::new());
        for (record, found) in mine.into_iter().zip(found) {
            match desk.judge(record, found, self.0.clock.now()) {
                Judged::NotYet => {
                    batch.later.insert(record.event_id);
                }
                Judged::Decided(SaleDecision::Record(recording)) => kept.push((record, recording)),
                Judged::Decided(SaleDecision::Refuse(reason)) => {
                    refused.push(record.sale.transaction_id.as_str());
                    batch
                        .outcomes
                        .insert(record.event_id, SaleOutcome::Refused(reason));
                }
                Judged::Decided(SaleDecision::WindowExpired {
                    click_age_days,
                    window_days,
                }) => {
                    refused.push(record.sale.transaction_id.as_str());
                    let outcome = SaleOutcome::WindowExpired {
                        click_age_days,
                        window_days,
                    };
                    batch.outcomes.insert(record.event_id, outcome);
                }
            }
        }
        let mut deltas = Deltas::default();
        let now = self.0.clock.now();
        let written = rows::write(connection, &kept, &desk, now, &mut deltas).await?;
        desk.close(connection, deltas).await?;
        claims::release(connection, &refused).await?;
        self.apply_parked_refunds(connection, &kept, &written, &refused, &mut batch)
            .await?;
        batch.outcomes.extend(
            written
                .into_iter()
                .map(|(event_id, sale)| (event_id, sale.outcome)),
        );
        Ok(batch)
    }

    /// Refunds that came before their sale: settled if it is recorded now, refused if it was refused.
    async fn apply_parked_refunds(
        &self,
        connection: &mut PgConnection,
        kept: &[(&SaleRecord, common::domain::sale::Recording)],
        written: &HashMap<EventId, rows::Written>,
        refused: &[&str],
        batch: &mut Batch,
    ) -> StorageResult<()> {
        let sale_ids: HashMap<&str, SaleId> = kept
            .iter()
            .filter_map(|(record, _)| {
                written
                    .get(&record.event_id)
                    .map(|sale| (record.sale.transaction_id.as_str(), sale.sale_id))
            })
            .collect();
        let transaction_ids: Vec<&str> = sale_ids.keys().copied().chain(refused.iter().copied()).collect();
        let parked = refunds::take_parked(connection, &transaction_ids).await?;
        if parked.is_empty() {
            return Ok(());
        }
        let decoded = parked
            .iter()
            .map(decode_parked)
            .collect::<StorageResult<Vec<RefundRecord>>>()?;
        let (mut to_settle, mut not_found) = (Vec::new(), Vec::new());
        for record in &decoded {
            match sale_ids.get(record.transaction_id.as_str()) {
                Some(sale_id) => to_settle.push((*sale_id, record)),
                None => not_found.push(record.event_id),
            }
        }
        batch.refunds = settle(connection, &to_settle, &self.0.clock).await?;
        remember_refusals(connection, &not_found).await?;
        batch.refunds.extend(
            not_found
                .into_iter()
                .map(|event_id| (event_id, RefundOutcome::SaleNotFound)),
        );
        batch.parked = parked
            .into_iter()
            .map(|refund| (refund.event_id, refund.reply_to.map(Arc::from)))
            .collect();
        Ok(())
    }
}

fn decode_parked(parked: &ParkedRefund) -> StorageResult<RefundRecord> {
    serde_json::from_str(&parked.payload).map_err(|_| {
        common::storage::StorageError::corrupt("parked_refunds", "payload", parked.program_id.get())
    })
}

fn reference(record: &SaleRecord) -> Reference<'_> {
    Reference {
        program_id: Some(record.program_id),
        customer_key: record.sale.customer_key.as_ref(),
        click_id: record.sale.click_id.as_ref(),
        at: record.sold_at,
    }
}

/// The batch, sorted by what its claims say.
struct Claimed<'a> {
    /// To be processed now; each once, in order of their events.
    mine: Vec<&'a SaleRecord>,
    /// Recorded by an earlier delivery of the same record.
    recorded: Vec<(EventId, SaleId)>,
}

/// Locks the claims. A record whose claim is gone or held by another event is a stale copy: no effect, no reply.
async fn claimed<'a>(
    connection: &mut PgConnection,
    records: &[&'a SaleRecord],
) -> StorageResult<Claimed<'a>> {
    let mut unique: Vec<&SaleRecord> = records.to_vec();
    unique.sort_by_key(|record| record.event_id);
    unique.dedup_by_key(|record| record.event_id);
    let transaction_ids: Vec<&str> = unique
        .iter()
        .map(|record| record.sale.transaction_id.as_str())
        .collect();
    let holders: HashMap<EventId, ClaimState> = claims::lock(connection, &transaction_ids)
        .await?
        .into_iter()
        .map(|claim| (claim.event_id, claim.state))
        .collect();
    let mut sorted = Claimed {
        mine: Vec::new(),
        recorded: Vec::new(),
    };
    for record in unique {
        match holders.get(&record.event_id) {
            Some(ClaimState::Open) => sorted.mine.push(record),
            Some(ClaimState::Recorded(sale_id)) => sorted.recorded.push((record.event_id, *sale_id)),
            Some(ClaimState::Dead) | None => {}
        }
    }
    Ok(sorted)
}

/// The outcomes of sales that are recorded already, read back from their rows.
async fn repeated(
    connection: &mut PgConnection,
    recorded: &[(EventId, SaleId)],
) -> StorageResult<HashMap<EventId, SaleOutcome>> {
    if recorded.is_empty() {
        return Ok(HashMap::new());
    }
    let ids: Vec<i64> = recorded.iter().map(|(_, sale_id)| sale_id.get()).collect();
    let mut stored = sales::recorded(connection, &ids).await?;
    let program_ids: Vec<i64> = stored.values().map(|sale| sale.program_id.get()).collect();
    let programs = programs::find(connection, &program_ids).await?;
    let outcome = |(event_id, sale_id): &(EventId, SaleId)| {
        let sale = stored.remove(sale_id)?;
        let split = programs
            .get(&sale.program_id)
            .is_some_and(|program| program.terms.attribution_model == AttributionModel::Linear);
        let outcome = SaleOutcome::Recorded {
            sale_id: *sale_id,
            commission_ids: sale.commission_ids,
            split,
            no_commission: sale.no_commission,
        };
        Some((*event_id, outcome))
    };
    Ok(recorded.iter().filter_map(outcome).collect())
}
