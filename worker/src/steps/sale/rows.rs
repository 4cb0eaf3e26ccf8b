//! The rows of recorded sales: sale events, commissions, ledger entries, subscriptions, claims.

use std::collections::HashMap;

use chrono::{DateTime, Utc};
use domain::earnings::commission::SelfReferrals;
use domain::earnings::ledger;
use domain::ids::{CommissionId, CustomerId, EventId, SaleId};
use domain::tracking::attribution::AttributionModel;
use domain::tracking::sale::{Earning, Recording};
use domain::tracking::signal::SignalRules;
use messages::sale::{NoCommission, SaleOutcome, SaleRecord};
use sqlx::PgConnection;
use storage::money::commissions::{self, NewCommission};
use storage::money::ledger::NewEntry;
use storage::reads::rollups::Deltas;
use storage::tracking::sales::{self, NewSale};
use storage::tracking::subscriptions::{self, NewSubscription};
use storage::{StorageError, StorageResult};

use super::batch::{SaleBatch, subscription_key};
use crate::postings;

pub struct RecordedSale {
    pub sale_id: SaleId,
    pub outcome: SaleOutcome,
}

/// The sales that a batch has written, and the entries still to be posted.
#[derive(Default)]
pub struct Rows {
    pub sales: HashMap<EventId, RecordedSale>,
    /// Entries of the commissions. Posting locks balances for which other batches wait, so it comes last.
    pub entries: Vec<NewEntry>,
}

pub async fn write(
    connection: &mut PgConnection,
    kept: &[(&SaleRecord, &Recording)],
    batch: &SaleBatch,
    rules: &SignalRules,
    deltas: &mut Deltas,
) -> StorageResult<Rows> {
    if kept.is_empty() {
        return Ok(Rows::default());
    }
    let sale_ids = write_sales(connection, kept, batch, deltas).await?;
    let (commission_ids, entries) =
        write_commissions(connection, kept, &sale_ids, batch, rules, deltas).await?;
    write_subscriptions(connection, &sale_ids, batch).await?;
    let sales = kept
        .iter()
        .map(|(record, recording)| {
            let sale_id = sale_id(&sale_ids, record)?;
            let outcome = SaleOutcome::Recorded {
                sale_id,
                commission_ids: commission_ids.get(&record.event_id).cloned().unwrap_or_default(),
                split: batch
                    .terms(record.program_id)
                    .is_some_and(|terms| terms.attribution_model == AttributionModel::Linear),
                no_commission: NoCommission::of(&recording.earning),
            };
            Ok((record.event_id, RecordedSale { sale_id, outcome }))
        })
        .collect::<StorageResult<_>>()?;
    Ok(Rows { sales, entries })
}

/// Begins subscriptions that only their first sale's duplicate names. Returns the customers and sale times.
pub async fn begin_subscriptions(
    connection: &mut PgConnection,
    duplicates: &[(&SaleRecord, SaleId)],
) -> StorageResult<Vec<(CustomerId, DateTime<Utc>)>> {
    let named: Vec<_> = duplicates
        .iter()
        .filter(|(record, _)| !record.sale.is_recurring)
        .filter_map(|(record, sale_id)| Some((subscription_key(record)?, *sale_id)))
        .collect();
    subscriptions::adopt(connection, &named).await
}

async fn write_sales(
    connection: &mut PgConnection,
    kept: &[(&SaleRecord, &Recording)],
    batch: &SaleBatch,
    deltas: &mut Deltas,
) -> StorageResult<HashMap<EventId, SaleId>> {
    let new: Vec<NewSale<'_>> = kept
        .iter()
        .filter_map(|(record, recording)| {
            batch.buyer(record.event_id).map(|customer_id| NewSale {
                record,
                customer_id,
                referral_link_id: recording.credited_links.last().copied(),
                no_commission: NoCommission::of(&recording.earning),
                model: batch
                    .terms(record.program_id)
                    .map_or_else(AttributionModel::default, |terms| terms.attribution_model),
                self_referrals: batch
                    .terms(record.program_id)
                    .map_or_else(SelfReferrals::default, |terms| terms.self_referrals),
            })
        })
        .collect();
    for new in &new {
        deltas.sale(new);
    }
    sales::insert(connection, &new).await
}

/// Writes commissions and accruals. Returns the commission ids by event, in the model's order.
async fn write_commissions(
    connection: &mut PgConnection,
    kept: &[(&SaleRecord, &Recording)],
    sale_ids: &HashMap<EventId, SaleId>,
    batch: &SaleBatch,
    rules: &SignalRules,
    deltas: &mut Deltas,
) -> StorageResult<(HashMap<EventId, Vec<CommissionId>>, Vec<NewEntry>)> {
    let mut events = Vec::new();
    let mut new = Vec::new();
    for (record, recording) in kept {
        let Earning::Commissions {
            credits,
            currency,
            policy,
        } = &recording.earning
        else {
            continue;
        };
        let (Some(program), Some(customer_id)) =
            (batch.program(record.program_id), batch.buyer(record.event_id))
        else {
            continue;
        };
        let sale_id = sale_id(sale_ids, record)?;
        for credit in credits {
            events.push(record.event_id);
            new.push(NewCommission {
                sale_id,
                program_id: record.program_id,
                customer_id,
                credit: *credit,
                currency: *currency,
                policy,
                signals: batch.signals(record, credit.partner_id, rules),
                hold_until: program.hold.until(record.sold_at),
                // The sale's own day, however late the sale is settled: revenue and commission must count on
                // the same day.
                created_at: record.sold_at,
            });
        }
    }
    for new in &new {
        deltas.commission(new);
    }
    let ids = commissions::insert(connection, &new).await?;
    let mut by_event: HashMap<EventId, Vec<CommissionId>> = HashMap::new();
    let mut accruals = Vec::with_capacity(new.len());
    for ((event_id, commission), commission_id) in events.into_iter().zip(&new).zip(ids) {
        by_event.entry(event_id).or_default().push(commission_id);
        let accrual = ledger::accrual(commission.credit.amount);
        accruals.push(postings::of_new(commission, commission_id, event_id, accrual));
    }
    Ok((by_event, accruals))
}

async fn write_subscriptions(
    connection: &mut PgConnection,
    sale_ids: &HashMap<EventId, SaleId>,
    batch: &SaleBatch,
) -> StorageResult<()> {
    let new: Vec<NewSubscription> = batch
        .started()
        .filter_map(|(key, event_id, first)| {
            Some(NewSubscription {
                key: key.clone(),
                customer_id: batch.buyer(event_id)?,
                first_sale_id: *sale_ids.get(&event_id)?,
                first: first.clone(),
            })
        })
        .collect();
    subscriptions::save(connection, &new).await
}

fn sale_id(sale_ids: &HashMap<EventId, SaleId>, record: &SaleRecord) -> StorageResult<SaleId> {
    sale_ids
        .get(&record.event_id)
        .copied()
        .ok_or(StorageError::RowsAffected {
            table: "sale_events",
            expected: 1,
            actual: 0,
        })
}
