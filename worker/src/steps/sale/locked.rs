//! The locked claims of a batch and the known facts of its payments; then its customers.

use std::collections::{HashMap, HashSet};

use chrono::{DateTime, Utc};
use domain::ids::{EventId, SaleId};
use domain::tracking::attribution::AttributionModel;
use domain::tracking::click_id::ClickIdCodec;
use messages::sale::{SaleOutcome, SaleRecord};
use sqlx::PgConnection;
use storage::StorageResult;
use storage::program::programs;
use storage::tracking::claims::{self, Claim, ClaimState, PendingFacts};
use storage::tracking::sales;

use super::batch::SaleBatch;
use super::decided::{Candidate, Pending, Resolved};
use super::inbox::Inbox;
use super::order;
use super::payment_match::{PaymentMatch, Payments};
use crate::customer_lookup::{self, Reference, resolve};

pub struct Locked<'a> {
    claims: Claimed<'a>,
    pending: Pending<'a>,
}

impl<'a> Locked<'a> {
    pub async fn open(
        connection: &mut PgConnection,
        records: &[&'a SaleRecord],
        now: DateTime<Utc>,
    ) -> StorageResult<Self> {
        let claims = Claimed::lock(connection, records).await?;
        let facts = pending_facts(connection, &claims.mine).await?;
        let payments = if facts.names {
            Payments::open(connection, &claims.mine).await?
        } else {
            Payments::default()
        };
        let pending = Pending {
            payments,
            parked_refunds: facts.refunds,
            inbox: Inbox::open(connection, records, now).await?,
        };
        Ok(Self { claims, pending })
    }

    pub async fn resolve(
        self,
        connection: &mut PgConnection,
        codec: &ClickIdCodec,
        waits: Waits<'_>,
    ) -> StorageResult<Resolved<'a>> {
        let Self { claims, pending } = self;
        let repeated = repeated(connection, &claims.recorded).await?;
        let mut matches = pending.payments.matches(&claims.mine);
        let mut records = claims.mine;
        for (record, sale_id) in claims.known {
            records.push(record);
            matches.push(PaymentMatch::SameName(sale_id));
        }
        let references: Vec<Reference<'_>> = records.iter().map(|record| reference(record, waits)).collect();
        let customer_lookup::Resolved { found, customers } = resolve(connection, codec, &references).await?;
        let records = order::postponed(&records, &found, &customers);
        let judged: Vec<&SaleRecord> = records.iter().map(AsRef::as_ref).collect();
        let batch = SaleBatch::open(connection, &judged, customers, claims.claimed_at).await?;
        let candidates = records.into_iter().zip(found).zip(matches);
        Ok(Resolved {
            candidates: candidates
                .map(|((record, found), payment_match)| Candidate {
                    record,
                    found,
                    payment_match,
                })
                .collect(),
            batch,
            pending,
            repeated,
        })
    }
}

#[derive(Default)]
struct Claimed<'a> {
    /// Processed now: each record once, in the order of their events.
    mine: Vec<&'a SaleRecord>,
    /// Recorded by an earlier delivery of the same record.
    recorded: Vec<(EventId, SaleId)>,
    /// Records of the payment processor whose transaction_id another record has reported already.
    known: Vec<(&'a SaleRecord, SaleId)>,
    /// When each of `mine` was claimed.
    claimed_at: HashMap<EventId, DateTime<Utc>>,
}

impl<'a> Claimed<'a> {
    async fn lock(connection: &mut PgConnection, records: &[&'a SaleRecord]) -> StorageResult<Self> {
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
        let mut records = Self::default();
        for record in unique {
            if let Some(claim) = holders.get(record.sale.transaction_id.as_str()) {
                records.classify(record, claim);
            }
        }
        Ok(records)
    }

    /// A record whose claim is gone or held by another event is a stale copy: it has no effect and gets no
    /// reply. A processor's record is kept, because it may name the customer of a recorded payment.
    fn classify(&mut self, record: &'a SaleRecord, claim: &Claim) {
        match claim.state {
            ClaimState::Open if claim.event_id == record.event_id => {
                self.claimed_at.insert(record.event_id, claim.claimed_at);
                self.mine.push(record);
            }
            ClaimState::Recorded(sale_id) if claim.event_id == record.event_id => {
                self.recorded.push((record.event_id, sale_id));
            }
            ClaimState::Recorded(sale_id)
                if record.from_processor && claim.program_id == record.program_id =>
            {
                self.known.push((record, sale_id));
            }
            ClaimState::Open | ClaimState::Recorded(_) | ClaimState::Dead => {}
        }
    }
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

/// Whether the sales of a batch still wait for a click or a lead.
#[derive(Debug, Clone, Copy)]
pub struct Waits<'a> {
    /// Events that no longer wait for their click or for a lead.
    pub waited: &'a HashSet<EventId>,
    pub leads_are_late: bool,
}

fn reference<'a>(record: &'a SaleRecord, waits: Waits<'_>) -> Reference<'a> {
    let may_wait = !waits.waited.contains(&record.event_id);
    Reference {
        program_id: Some(record.program_id),
        customer_key: record.sale.customer_key.as_ref(),
        click_id: record.sale.click_id.as_ref(),
        may_wait,
        may_wait_for_lead: may_wait && waits.leads_are_late,
    }
}

/// The outcomes of sales that are already recorded, read back from their rows.
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
