//! Refunds take back commissions.
//!
//! Phases:
//!
//! 1. *repeats*: refunds that an earlier delivery recorded or refused;
//! 2. *claims*: locked under every name of their payments, so that no sale can be recorded meanwhile;
//! 3. a refund of an unknown sale, or of another program's sale, is refused;
//! 4. a refund whose sale is claimed but not recorded is *parked*, and the sale's own transaction settles it;
//! 5. the other refunds are *settled*.
//!
//! The sale step uses [`settle`], too.

mod outbound;
mod settle;

use std::collections::{BTreeMap, BTreeSet, HashMap};

use bus::consume::Delivered;
use domain::ids::EventId;
use messages::refund::{RefundOutcome, RefundRecord};
use messages::subject::Subject;
use sqlx::PgConnection;
use storage::money::refunds::{self, ParkedRefund};
use storage::processor::processor_refs::{self, Reference};
use storage::tracking::claims::{self, Claim, ClaimState};
use storage::tracking::refused_events;
use storage::{StorageError, StorageResult};
use uuid::Uuid;

use super::transaction::{BatchResult, TransactionalStep};
use super::{StepContext, json};
use crate::outbound::OutboundEvents;

pub use self::settle::{Outcomes, settle};

#[derive(Debug)]
pub struct RefundStep(pub StepContext);

impl TransactionalStep for RefundStep {
    type Record = RefundRecord;
    type Prepared = ();
    type Outcome = RefundOutcome;
    const SUBJECT: Subject = Subject::Refunds;

    /// A parked refund has no outcome yet; the sale's transaction replies to its caller.
    async fn process(
        &self,
        connection: &mut PgConnection,
        batch: &[Delivered<RefundRecord>],
        (): (),
    ) -> StorageResult<BatchResult<RefundOutcome>> {
        Ok(BatchResult {
            outbox_filled: true,
            ..BatchResult::of(self.reverse(connection, batch).await?)
        })
    }
}

impl RefundStep {
    async fn reverse(
        &self,
        connection: &mut PgConnection,
        batch: &[Delivered<RefundRecord>],
    ) -> StorageResult<Outcomes> {
        let mut outcomes = earlier_outcomes(connection, batch).await?;
        let mut fresh: Vec<&Delivered<RefundRecord>> = batch
            .iter()
            .filter(|delivered| !outcomes.contains_key(&delivered.record.event_id))
            .collect();
        fresh.sort_by_key(|delivered| delivered.record.event_id);
        fresh.dedup_by_key(|delivered| delivered.record.event_id);
        let claims = Claims::lock(connection, &fresh).await?;
        let (mut settled, mut parked, mut refused) = (Vec::new(), Vec::new(), Vec::new());
        for delivered in fresh {
            let record = &delivered.record;
            match claims.of(record) {
                None => refused.push(record.event_id),
                Some(claim) => match claim.state {
                    ClaimState::Recorded(sale_id) => settled.push((sale_id, record)),
                    ClaimState::Open | ClaimState::Dead => parked.push(park(delivered, claim)?),
                },
            }
        }
        refunds::park(connection, &parked).await?;
        let mut events = OutboundEvents::new(&self.0.clock);
        outcomes.extend(settle(connection, &settled, &self.0.clock, &mut events).await?);
        remember_refusals(connection, &refused).await?;
        outcomes.extend(
            refused
                .into_iter()
                .map(|event_id| (event_id, RefundOutcome::SaleNotFound)),
        );
        events.write(connection).await?;
        Ok(outcomes)
    }
}

/// The claims of the batch, under the names in its refunds and all other names of the same payments.
struct Claims {
    claims: HashMap<String, Claim>,
    payments: BTreeMap<Reference, Reference>,
}

impl Claims {
    async fn lock(
        connection: &mut PgConnection,
        refunds: &[&Delivered<RefundRecord>],
    ) -> StorageResult<Self> {
        let asked: Vec<Reference> = refunds
            .iter()
            .map(|delivered| reference(&delivered.record))
            .collect();
        let payments = processor_refs::groups(connection, &asked).await?;
        let names: BTreeSet<&str> = asked
            .iter()
            .chain(payments.keys())
            .map(|(_, name)| name.as_str())
            .collect();
        let claims = claims::lock(connection, &names.into_iter().collect::<Vec<_>>()).await?;
        Ok(Self {
            claims: claims
                .into_iter()
                .map(|claim| (claim.transaction_id.clone(), claim))
                .collect(),
            payments,
        })
    }

    /// The claim of the refund's sale; `None` also if the sale is another program's.
    fn of(&self, record: &RefundRecord) -> Option<&Claim> {
        let claim = |name: &str| {
            self.claims
                .get(name)
                .filter(|claim| claim.program_id == record.program_id)
        };
        claim(record.transaction_id.as_str()).or_else(|| {
            let payment = self.payments.get(&reference(record))?;
            let names = self.payments.iter().filter(|(_, of)| *of == payment);
            names
                .filter_map(|((_, name), _)| claim(name))
                .max_by_key(|claim| matches!(claim.state, ClaimState::Recorded(_)))
        })
    }
}

fn reference(record: &RefundRecord) -> Reference {
    (record.program_id, record.transaction_id.to_string())
}

fn park(delivered: &Delivered<RefundRecord>, claim: &Claim) -> StorageResult<ParkedRefund> {
    let record = &delivered.record;
    Ok(ParkedRefund {
        event_id: record.event_id,
        program_id: record.program_id,
        transaction_id: claim.transaction_id.clone(),
        reply_to: delivered.reply_to.as_ref().map(ToString::to_string),
        payload: json(record)?,
    })
}

/// Remembers that the outcome of these events was an unknown sale.
pub async fn remember_refusals(connection: &mut PgConnection, events: &[EventId]) -> StorageResult<()> {
    let outcome = json(&RefundOutcome::SaleNotFound)?;
    let refusals: Vec<(EventId, String)> = events
        .iter()
        .map(|event_id| (*event_id, outcome.clone()))
        .collect();
    refused_events::remember(connection, &refusals).await
}

async fn earlier_outcomes(
    connection: &mut PgConnection,
    batch: &[Delivered<RefundRecord>],
) -> StorageResult<Outcomes> {
    let events: Vec<Uuid> = batch
        .iter()
        .map(|delivered| delivered.record.event_id.get())
        .collect();
    let refused = refused_events::find(connection, &events).await?;
    let recorded = refunds::outcomes(connection, &events).await?;
    let of = |table| move |(event_id, text)| (table, event_id, text);
    refused
        .into_iter()
        .map(of("refused_events"))
        .chain(recorded.into_iter().map(of("refunds")))
        .map(|(table, event_id, text): (_, EventId, String)| {
            let outcome = serde_json::from_str(&text)
                .map_err(|_| StorageError::corrupt(table, "outcome", event_id.get()))?;
            Ok((event_id, outcome))
        })
        .collect()
}
