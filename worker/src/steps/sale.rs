//! Sales become sale events, commissions and ledger entries.
//!
//! Phases: **claims**, locked: only the record that holds the claim is processed, whatever copies of it or of earlier
//! attempts arrive → **customers**, resolved and locked → **decisions**, record by record, each seeing what the ones
//! before it did ([`batch`]) → **rows** ([`rows`]) → **parked refunds** and the processor's **reversals** of the sales just
//! recorded, in the same transaction → the processor's **inbox** ([`inbox`]).
//!
//! Sales are judged as of their own time, and may arrive in another order: one that comes before others of its customer has those
//! judged again ([`reassessment`](crate::reassessment)). Calls under way at once keep the order of their decisions ([`order`]).
//!
//! A payment has many names at its processor, and is one sale: a record whose payment is recorded under another name is a
//! duplicate ([`payment_match`]). Names that become known too late are the payment step's business.
//!
//! A refusal releases the claim, so that a corrected call can follow. A sale that was recorded by an earlier
//! delivery gets the same outcome again, read back from its rows.

mod batch;
mod inbox;
mod order;
mod payers;
mod payment_match;
mod rows;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use bus::consume::{Delivered, StepError};
use chrono::{DateTime, Utc};
use domain::attribution::AttributionModel;
use domain::ids::{EventId, SaleId};
use domain::sale::{Recording, SaleDecision, SaleRefusal};
use messages::refund::{RefundOutcome, RefundRecord};
use messages::sale::{SaleOutcome, SaleRecord};
use messages::subject::Subject;
use sqlx::PgConnection;
use storage::claims::{self, Claim, ClaimState, PendingFacts};
use storage::refunds::{self, ParkedRefund};
use storage::rollups::Deltas;
use storage::{StorageResult, ledger, programs, sales};

use self::batch::{Judged, SaleBatch};
use self::inbox::Inbox;
use self::payment_match::{PaymentMatch, Payments};
use self::rows::Rows;
use super::StepContext;
use super::payment::reverse;
use super::refund::{self, remember_refusals, settle};
use super::transaction::{BatchResult, TransactionalStep, records, replies};
use crate::customer_lookup::{Reference, Resolved, resolve, without_clicks};
use crate::reassessment::reassess;

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
    /// Counted on the sales just recorded.
    reversals: usize,
}

/// What the records of a batch came to, before anything is written.
#[derive(Default)]
struct Sorted<'a> {
    kept: Vec<(&'a SaleRecord, Recording)>,
    /// With the sale that stands for their payment.
    duplicates: Vec<(&'a SaleRecord, SaleId)>,
    /// Claims of theirs.
    closed: Vec<(&'a str, SaleId)>,
    /// transaction_ids that are free again.
    released: Vec<&'a str>,
}

impl<'a> Sorted<'a> {
    /// The outcome, unless a sale is to be recorded.
    fn take(&mut self, record: &'a SaleRecord, decision: SaleDecision) -> Option<SaleOutcome> {
        let outcome = match decision {
            SaleDecision::Record(recording) => {
                self.kept.push((record, recording));
                return None;
            }
            // The API's callers know no refusal of this name, and the release before neither.
            SaleDecision::Refuse(SaleRefusal::BeforeFirstClick) if !record.from_processor => {
                SaleOutcome::Refused(SaleRefusal::NoAttribution)
            }
            SaleDecision::Refuse(reason) => SaleOutcome::Refused(reason),
            SaleDecision::WindowExpired {
                click_age_days,
                window_days,
            } => SaleOutcome::WindowExpired {
                click_age_days,
                window_days,
            },
        };
        self.released.push(record.sale.transaction_id.as_str());
        Some(outcome)
    }
}

impl TransactionalStep for SaleStep {
    type Record = SaleRecord;
    /// Events that no longer wait for their click.
    type Prepared = HashSet<EventId>;
    type Outcome = SaleOutcome;
    const SUBJECT: Subject = Subject::Sales;

    fn context(&self) -> &StepContext {
        &self.0
    }

    fn event_id(record: &SaleRecord) -> EventId {
        record.event_id
    }

    async fn prepare(&self, batch: &[Delivered<SaleRecord>]) -> Result<HashSet<EventId>, StepError> {
        Ok(without_clicks(&self.0.clicks, batch, Self::event_id).await)
    }

    async fn process(
        &self,
        connection: &mut PgConnection,
        batch: &[Delivered<SaleRecord>],
        waited: HashSet<EventId>,
    ) -> StorageResult<BatchResult<SaleOutcome>> {
        let done = self.record(connection, &records(batch), &waited).await?;
        let waiting = done
            .parked
            .iter()
            .map(|(event_id, reply_to)| (*event_id, reply_to.as_ref()));
        Ok(BatchResult {
            replies: replies(waiting, &done.refunds)?,
            outbox_filled: !done.refunds.is_empty() || done.reversals > 0,
            later: done.later,
            ..BatchResult::of(done.outcomes)
        })
    }
}

impl SaleStep {
    /// `waited`: events that wait no longer for their click.
    pub(super) async fn record(
        &self,
        connection: &mut PgConnection,
        records: &[&SaleRecord],
        waited: &HashSet<EventId>,
    ) -> StorageResult<Batch> {
        let now = self.0.clock.now();
        let named = payers::named(connection, records).await?;
        let records: Vec<&SaleRecord> = records
            .iter()
            .map(|record| named.get(&record.event_id).unwrap_or(record))
            .collect();
        let Claimed {
            mine,
            recorded,
            known,
            claimed_at,
        } = claimed(connection, &records).await?;
        let told = pending_facts(connection, &mine).await?;
        let payments = if told.names {
            Payments::open(connection, &mine).await?
        } else {
            Payments::default()
        };
        let inbox = Inbox::open(connection, &records, now).await?;
        let mut batch = Batch {
            outcomes: repeated(connection, &recorded).await?,
            ..Batch::default()
        };
        let mut matches = payments.matches(&mine);
        matches.extend(known.iter().map(|(_, sale_id)| PaymentMatch::SameName(*sale_id)));
        let judged: Vec<&SaleRecord> = mine
            .into_iter()
            .chain(known.into_iter().map(|(record, _)| record))
            .collect();
        let references: Vec<Reference<'_>> = judged.iter().map(|record| reference(record, waited)).collect();
        let Resolved { found, customers } = resolve(connection, &self.0.codec, &references).await?;
        let postponed = order::postponed(&judged, &found, &customers);
        let judged: Vec<&SaleRecord> = judged
            .into_iter()
            .zip(&postponed)
            .map(|(record, postponed)| postponed.as_ref().unwrap_or(record))
            .collect();
        let mut sale_batch = SaleBatch::open(connection, &judged, customers, claimed_at).await?;
        let mut sorted = Sorted::default();
        for ((record, found), payment_match) in judged.into_iter().zip(found).zip(matches) {
            match payment_match {
                PaymentMatch::Pending => {
                    batch.later.insert(record.event_id);
                }
                PaymentMatch::OtherName(sale_id) | PaymentMatch::SameName(sale_id) => {
                    sale_batch.recognise(record, found);
                    if matches!(payment_match, PaymentMatch::OtherName(_)) {
                        sorted.closed.push((record.sale.transaction_id.as_str(), sale_id));
                    }
                    sorted.duplicates.push((record, sale_id));
                    batch.outcomes.insert(record.event_id, SaleOutcome::Duplicate);
                }
                PaymentMatch::Unrecorded => match sale_batch.judge(record, found, &self.0.signal_rules) {
                    Judged::NotYet => {
                        batch.later.insert(record.event_id);
                    }
                    Judged::Decided(decision) => {
                        let refusal = sorted.take(record, decision);
                        batch
                            .outcomes
                            .extend(refusal.map(|outcome| (record.event_id, outcome)));
                    }
                },
            }
        }
        let mut deltas = Deltas::default();
        let Rows {
            sales: written,
            accruals,
        } = rows::write(
            connection,
            &sorted.kept,
            &sale_batch,
            &self.0.signal_rules,
            &mut deltas,
        )
        .await?;
        claims::record(connection, &sorted.closed).await?;
        let adopted = rows::begin_subscriptions(connection, &sorted.duplicates).await?;
        let (customers, mut out_of_order) = sale_batch.close(connection, deltas).await?;
        out_of_order.extend(adopted);
        claims::release(connection, &sorted.released).await?;
        ledger::post(connection, &accruals).await?;
        reassess(connection, &self.0, &customers, &out_of_order).await?;
        if told.refunds {
            self.apply_parked_refunds(connection, &sorted, &written, &mut batch)
                .await?;
        }
        self.apply_reversals(connection, &sorted, &written, &payments, &mut batch)
            .await?;
        batch.outcomes.extend(
            written
                .into_iter()
                .map(|(event_id, sale)| (event_id, sale.outcome)),
        );
        inbox.close(connection, &records, &batch.outcomes).await?;
        Ok(batch)
    }

    /// What the processor took back of these sales before they were recorded.
    async fn apply_reversals(
        &self,
        connection: &mut PgConnection,
        sorted: &Sorted<'_>,
        written: &HashMap<EventId, rows::Written>,
        payments: &Payments,
        batch: &mut Batch,
    ) -> StorageResult<()> {
        let paid: Vec<_> = sorted
            .kept
            .iter()
            .filter_map(|(record, _)| {
                let sale_id = written.get(&record.event_id)?.sale_id;
                Some((payments.payment(record)?.clone(), sale_id))
            })
            .collect();
        batch.reversals = reverse(connection, &paid, &self.0.clock).await?;
        Ok(())
    }

    /// Refunds that came before their sale: settled if it is recorded now, refused if it was refused.
    async fn apply_parked_refunds(
        &self,
        connection: &mut PgConnection,
        sorted: &Sorted<'_>,
        written: &HashMap<EventId, rows::Written>,
        batch: &mut Batch,
    ) -> StorageResult<()> {
        let recorded = sorted.kept.iter().filter_map(|(record, _)| {
            written
                .get(&record.event_id)
                .map(|sale| (record.sale.transaction_id.as_str(), sale.sale_id))
        });
        let sale_ids: HashMap<&str, SaleId> = recorded.chain(sorted.closed.iter().copied()).collect();
        let released = sorted.released.iter().copied();
        let transaction_ids: Vec<&str> = sale_ids.keys().copied().chain(released).collect();
        let parked = refunds::take_parked(connection, &transaction_ids).await?;
        if parked.is_empty() {
            return Ok(());
        }
        let decoded = parked
            .iter()
            .map(decode_parked)
            .collect::<StorageResult<Vec<RefundRecord>>>()?;
        let (mut to_settle, mut not_found) = (Vec::new(), Vec::new());
        for (record, parked) in decoded.iter().zip(&parked) {
            match sale_ids.get(parked.transaction_id.as_str()) {
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
    serde_json::from_str(&parked.payload)
        .map_err(|_| storage::StorageError::corrupt("parked_refunds", "payload", parked.event_id.get()))
}

fn reference<'a>(record: &'a SaleRecord, waited: &HashSet<EventId>) -> Reference<'a> {
    Reference {
        program_id: Some(record.program_id),
        customer_key: record.sale.customer_key.as_ref(),
        click_id: record.sale.click_id.as_ref(),
        may_wait: !waited.contains(&record.event_id),
    }
}

/// The batch, sorted by what its claims say.
struct Claimed<'a> {
    /// To be processed now; each once, in order of their events.
    mine: Vec<&'a SaleRecord>,
    /// Recorded by an earlier delivery of the same record.
    recorded: Vec<(EventId, SaleId)>,
    /// The processor's reports of what somebody else reported before, under the same name.
    known: Vec<(&'a SaleRecord, SaleId)>,
    /// When each that is to be processed was claimed.
    claimed_at: HashMap<EventId, DateTime<Utc>>,
}

/// Locks the claims. A record whose claim is gone or held by another event is a stale copy: no effect, no reply. Unless it is
/// the processor's: what it says of a recorded payment beside its amount is still worth knowing.
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
    let holders: HashMap<String, Claim> = claims::lock(connection, &transaction_ids)
        .await?
        .into_iter()
        .map(|claim| (claim.transaction_id.clone(), claim))
        .collect();
    let mut sorted = Claimed {
        mine: Vec::new(),
        recorded: Vec::new(),
        known: Vec::new(),
        claimed_at: HashMap::new(),
    };
    for record in unique {
        let Some(claim) = holders.get(record.sale.transaction_id.as_str()) else {
            continue;
        };
        match claim.state {
            ClaimState::Open if claim.event_id == record.event_id => {
                sorted.claimed_at.insert(record.event_id, claim.claimed_at);
                sorted.mine.push(record);
            }
            ClaimState::Recorded(sale_id) if claim.event_id == record.event_id => {
                sorted.recorded.push((record.event_id, sale_id));
            }
            ClaimState::Recorded(sale_id)
                if record.from_processor && claim.program_id == record.program_id =>
            {
                sorted.known.push((record, sale_id));
            }
            ClaimState::Open | ClaimState::Recorded(_) | ClaimState::Dead => {}
        }
    }
    Ok(sorted)
}

async fn pending_facts(connection: &mut PgConnection, mine: &[&SaleRecord]) -> StorageResult<PendingFacts> {
    if mine.is_empty() {
        return Ok(PendingFacts::default());
    }
    let claims: Vec<_> = mine
        .iter()
        .map(|record| (record.program_id, record.sale.transaction_id.as_str()))
        .collect();
    claims::pending_facts(connection, &claims).await
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
    let stored = sales::recorded(connection, &ids).await?;
    let program_ids: Vec<i64> = stored.values().map(|sale| sale.program_id.get()).collect();
    let programs = programs::find(connection, &program_ids).await?;
    let outcome = |(event_id, sale_id): &(EventId, SaleId)| {
        let sale = stored.get(sale_id)?;
        let split = programs
            .get(&sale.program_id)
            .is_some_and(|program| program.terms.attribution_model == AttributionModel::Linear);
        if sale.event_id != *event_id {
            return Some((*event_id, SaleOutcome::Duplicate));
        }
        let outcome = SaleOutcome::Recorded {
            sale_id: *sale_id,
            commission_ids: sale.commission_ids.clone(),
            split,
            no_commission: sale.no_commission,
        };
        Some((*event_id, outcome))
    };
    Ok(recorded.iter().filter_map(outcome).collect())
}
