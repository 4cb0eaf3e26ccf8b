//! The decisions of a batch, and the rows that result.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use domain::ids::{EventId, SaleId};
use domain::tracking::sale::{Recording, SaleDecision, SaleRefusal};
use domain::tracking::signal::SignalRules;
use messages::sale::{SaleOutcome, SaleRecord};
use sqlx::PgConnection;
use storage::StorageResult;
use storage::money::ledger;
use storage::reads::rollups::Deltas;
use storage::tracking::claims;

use super::batch::SaleBatch;
use super::inbox::Inbox;
use super::outbound;
use super::payment_match::{PaymentMatch, Payments};
use super::refunds::{self, ParkedRefunds};
use super::rows::{self, RecordedSale, Rows};
use crate::customer_lookup::Found;
use crate::outbound::OutboundEvents;
use crate::reassessment::reassess;
use crate::steps::StepContext;

/// Facts from other messages about the sales of a batch.
pub struct Pending<'a> {
    pub payments: Payments,
    /// Whether any refund arrived before its sale.
    pub parked_refunds: bool,
    pub inbox: Inbox<'a>,
}

/// A record to decide.
pub struct Candidate<'a> {
    pub record: Cow<'a, SaleRecord>,
    pub found: Found,
    pub payment_match: PaymentMatch,
}

/// A batch whose customers are locked.
pub struct Resolved<'a> {
    pub candidates: Vec<Candidate<'a>>,
    pub batch: SaleBatch,
    pub pending: Pending<'a>,
    /// Outcomes of records that an earlier delivery recorded.
    pub repeated: HashMap<EventId, SaleOutcome>,
}

enum Decision {
    Record(Recording),
    Refuse(SaleOutcome),
    /// The record's payment is already this sale.
    Duplicate {
        of: SaleId,
        /// The record holds a claim of its own, under another name of the payment.
        closes_claim: bool,
    },
    /// Its click or lead may still arrive, or another record of the batch has the same payment.
    Later,
}

pub struct Decided<'a> {
    decisions: Vec<(Cow<'a, SaleRecord>, Decision)>,
    batch: SaleBatch,
    pending: Pending<'a>,
    repeated: HashMap<EventId, SaleOutcome>,
}

pub struct Written {
    pub outcomes: HashMap<EventId, SaleOutcome>,
    /// Records to offer again.
    pub later: HashSet<EventId>,
    pub parked_refunds: ParkedRefunds,
    pub reversals: usize,
}

impl<'a> Resolved<'a> {
    pub fn decide(self, rules: &SignalRules) -> Decided<'a> {
        let Self {
            candidates,
            mut batch,
            pending,
            repeated,
        } = self;
        let decisions = candidates
            .into_iter()
            .map(|candidate| {
                let decision = candidate.decide(&mut batch, rules);
                (candidate.record, decision)
            })
            .collect();
        Decided {
            decisions,
            batch,
            pending,
            repeated,
        }
    }
}

impl Candidate<'_> {
    fn decide(&self, batch: &mut SaleBatch, rules: &SignalRules) -> Decision {
        match self.payment_match {
            PaymentMatch::Pending => Decision::Later,
            PaymentMatch::OtherName(of) | PaymentMatch::SameName(of) => {
                batch.recognise(&self.record, self.found);
                Decision::Duplicate {
                    of,
                    closes_claim: matches!(self.payment_match, PaymentMatch::OtherName(_)),
                }
            }
            PaymentMatch::Unrecorded => match batch.judge(&self.record, self.found, rules) {
                None => Decision::Later,
                Some(decision) => self.decided(decision),
            },
        }
    }

    fn decided(&self, decision: SaleDecision) -> Decision {
        Decision::Refuse(match decision {
            SaleDecision::Record(recording) => return Decision::Record(recording),
            // The API has no refusal of this name.
            SaleDecision::Refuse(SaleRefusal::BeforeFirstClick) if !self.record.from_processor => {
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
        })
    }
}

#[derive(Default)]
struct ByDecision<'a> {
    kept: Vec<(&'a SaleRecord, &'a Recording)>,
    duplicates: Vec<(&'a SaleRecord, SaleId)>,
    /// Claims of duplicates, to be recorded for the sale that already has the payment.
    closed: Vec<(&'a str, SaleId)>,
    /// transaction_ids of refused sales.
    released: Vec<&'a str>,
    later: HashSet<EventId>,
}

impl<'a> ByDecision<'a> {
    fn of(
        decisions: &'a [(Cow<'_, SaleRecord>, Decision)],
        outcomes: &mut HashMap<EventId, SaleOutcome>,
    ) -> Self {
        let mut by_decision = Self::default();
        for (record, decision) in decisions {
            let record: &SaleRecord = record;
            let transaction_id = record.sale.transaction_id.as_str();
            match decision {
                Decision::Record(recording) => by_decision.kept.push((record, recording)),
                Decision::Refuse(outcome) => {
                    by_decision.released.push(transaction_id);
                    outcomes.insert(record.event_id, outcome.clone());
                }
                Decision::Duplicate { of, closes_claim } => {
                    by_decision.duplicates.push((record, *of));
                    if *closes_claim {
                        by_decision.closed.push((transaction_id, *of));
                    }
                    outcomes.insert(record.event_id, SaleOutcome::Duplicate);
                }
                Decision::Later => {
                    by_decision.later.insert(record.event_id);
                }
            }
        }
        by_decision
    }
}

impl Decided<'_> {
    pub async fn write(self, connection: &mut PgConnection, context: &StepContext) -> StorageResult<Written> {
        let Self {
            decisions,
            batch,
            pending,
            repeated: mut outcomes,
        } = self;
        let by_decision = ByDecision::of(&decisions, &mut outcomes);
        let mut events = OutboundEvents::new(&context.clock);
        let recorded = write_rows(connection, context, batch, &by_decision, &mut events).await?;
        let new: Vec<(&SaleRecord, SaleId)> = by_decision
            .kept
            .iter()
            .filter_map(|(record, _)| Some((*record, recorded.get(&record.event_id)?.sale_id)))
            .collect();
        let parked_refunds = if pending.parked_refunds {
            let known = by_decision.closed.iter().copied();
            let sale_ids = new
                .iter()
                .map(|(record, sale_id)| (record.sale.transaction_id.as_str(), *sale_id))
                .chain(known)
                .collect();
            refunds::apply_parked(
                connection,
                &sale_ids,
                &by_decision.released,
                &context.clock,
                &mut events,
            )
            .await?
        } else {
            ParkedRefunds::default()
        };
        let reversals =
            refunds::apply_reversals(connection, &new, &pending.payments, &context.clock, &mut events)
                .await?;
        outcomes.extend(
            recorded
                .into_iter()
                .map(|(event_id, sale)| (event_id, sale.outcome)),
        );
        pending.inbox.close(connection, &outcomes, &mut events).await?;
        events.write(connection).await?;
        Ok(Written {
            outcomes,
            later: by_decision.later,
            parked_refunds,
            reversals,
        })
    }
}

/// Writes the sales and all resulting rows. Balances come last, because other batches wait for their locks.
async fn write_rows(
    connection: &mut PgConnection,
    context: &StepContext,
    batch: SaleBatch,
    by_decision: &ByDecision<'_>,
    events: &mut OutboundEvents<'_>,
) -> StorageResult<HashMap<EventId, RecordedSale>> {
    let mut deltas = Deltas::default();
    let rules = &context.signal_rules;
    let Rows { sales, mut entries } =
        rows::write(connection, &by_decision.kept, &batch, rules, &mut deltas).await?;
    outbound::add_events(connection, &by_decision.kept, &sales, &batch, events).await?;
    claims::record(connection, &by_decision.closed).await?;
    let adopted = rows::begin_subscriptions(connection, &by_decision.duplicates).await?;
    let (customers, mut out_of_order) = batch.close(connection, deltas).await?;
    out_of_order.extend(adopted);
    claims::release(connection, &by_decision.released).await?;
    entries.extend(reassess(connection, context, &customers, &out_of_order, events).await?);
    ledger::post(connection, &entries).await?;
    Ok(sales)
}
