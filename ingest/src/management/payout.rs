//! Pays commissions: one batch in one transaction.
//!
//! Phases: **lock** the commissions, in ascending order → **judge** each (a list is paid whole or not at all)
//! → **lock** the balances and read unpaid amounts and debts → **write** payout, commissions, ledger,
//! balances → **add** the outbound events.
//!
//! A batch has at most [`BATCH`] commissions: their balances stay locked until the commit, and sales wait for
//! these locks.

mod outbound;

use std::collections::{BTreeMap, BTreeSet};
use std::iter;

use chrono::{DateTime, Utc};
use domain::earnings::ledger;
use domain::earnings::payout::{Account, Paid, Payable, pay_all};
use domain::ids::{EventId, PayoutId, ProgramId};
use domain::money::{Cents, Currency};
use domain::text::Text;
use runtime::clock::Clock;
use serde_json::json;
use sqlx::PgConnection;
use storage::money::ledger::{NewEntry, lock_balances, post};
use storage::money::payouts::{self, LockedCommission, NewPayout, not_found};
use storage::{StorageError, StorageResult};

use crate::management::idempotency::IdempotencyKey;
use crate::management::prelude::*;

pub const BATCH: usize = 5_000;

#[derive(Debug)]
pub enum Wanted {
    /// Sorted, without duplicates.
    Commissions(Vec<i64>),
    /// All payable commissions, oldest first.
    AllApproved,
}

#[derive(Debug)]
pub struct PayoutOrder {
    pub program_id: ProgramId,
    pub wanted: Wanted,
    pub currency: Option<Currency>,
    pub reference: Option<Text<200>>,
    /// The total that the caller expects. Any other total is refused.
    pub expected: Option<Cents>,
    pub idempotency_key: Option<IdempotencyKey>,
    /// The event of the payout and of its ledger entries.
    pub event_id: EventId,
    pub now: DateTime<Utc>,
}

/// The refusal of a list of commissions, with the reason for each one that cannot be paid or approved. None
/// of them was changed.
pub fn refused_commissions(message: &'static str, reasons: &BTreeMap<i64, String>) -> ApiError {
    let commissions: Vec<_> = reasons
        .iter()
        .map(|(id, reason)| json!({ "commission_id": id, "reason": reason }))
        .collect();
    ApiError::BadParts {
        message,
        details: json!({ "commissions": commissions }),
    }
}

/// The result of a payout: its commissions, with the amount for each.
#[derive(Debug)]
pub struct Settled {
    pub currency: Currency,
    pub batch: Vec<LockedCommission>,
    /// In the order of the batch.
    pub paid: Vec<Paid>,
}

impl Settled {
    pub fn amount(&self) -> Cents {
        self.paid
            .iter()
            .fold(Cents::ZERO, |sum, paid| sum.saturating_add(paid.deducted.applied))
    }
}

/// Pays in the caller's transaction.
pub async fn pay(
    connection: &mut PgConnection,
    order: &PayoutOrder,
    clock: &Clock,
) -> Result<PayoutId, ApiError> {
    let settled = settle(connection, order).await?;
    if order
        .expected
        .is_some_and(|expected| expected != settled.amount())
    {
        return Err(ANOTHER_AMOUNT);
    }
    let payout_id = write(connection, order, &settled).await?;
    outbound::add_events(connection, order, clock, payout_id, &settled).await?;
    Ok(payout_id)
}

/// Locks the commissions to pay, and returns what the payout would move. Writes nothing.
pub async fn settle(connection: &mut PgConnection, order: &PayoutOrder) -> Result<Settled, ApiError> {
    let (currency, batch) = match &order.wanted {
        Wanted::Commissions(ids) => listed(connection, order, ids).await?,
        Wanted::AllApproved => approved(connection, order).await?,
    };
    let paid = parts(connection, &batch, currency, order.now).await?;
    Ok(Settled {
        currency,
        batch,
        paid,
    })
}

async fn listed(
    connection: &mut PgConnection,
    order: &PayoutOrder,
    ids: &[i64],
) -> Result<(Currency, Vec<LockedCommission>), ApiError> {
    let batch = payouts::lock_listed(connection, order.program_id, ids).await?;
    let mut reasons = not_found(ids, &batch);
    for commission in &batch {
        let id = commission.commission_id.get();
        if let Err(reason) = commission.state.payable(order.now) {
            reasons.insert(id, reason.to_string());
        } else if order
            .currency
            .is_some_and(|currency| currency != commission.currency)
        {
            reasons.insert(id, format!("in {}", commission.currency));
        }
    }
    if !reasons.is_empty() {
        return Err(refused_commissions(NOT_PAYABLE, &reasons));
    }
    let currencies: BTreeSet<_> = batch.iter().map(|commission| commission.currency).collect();
    match (currencies.first(), currencies.len()) {
        (Some(currency), 1) => Ok((*currency, batch)),
        (Some(_), _) => Err(mixed(currencies.iter().map(Currency::as_str))),
        (None, _) => Err(NOTHING_TO_PAY),
    }
}

async fn approved(
    connection: &mut PgConnection,
    order: &PayoutOrder,
) -> Result<(Currency, Vec<LockedCommission>), ApiError> {
    let currency = match order.currency {
        Some(currency) => currency,
        None => only_currency(connection, order).await?,
    };
    let limit = i64::try_from(BATCH).unwrap_or(i64::MAX);
    let batch = payouts::lock_payable(connection, order.program_id, currency, order.now, limit).await?;
    if batch.is_empty() {
        return Err(NOTHING_TO_PAY);
    }
    Ok((currency, batch))
}

async fn only_currency(connection: &mut PgConnection, order: &PayoutOrder) -> Result<Currency, ApiError> {
    let currencies = payouts::payable_currencies(connection, order.program_id, order.now).await?;
    match currencies.as_slice() {
        [] => Err(NOTHING_TO_PAY),
        [currency] => Ok(Currency::parse(currency)
            .ok_or_else(|| StorageError::corrupt("commissions", "currency", order.program_id.get()))?),
        several => Err(mixed(several.iter().map(String::as_str))),
    }
}

/// The amount for each commission of the batch, in its order.
async fn parts(
    connection: &mut PgConnection,
    batch: &[LockedCommission],
    currency: Currency,
    now: DateTime<Utc>,
) -> Result<Vec<Paid>, ApiError> {
    let memberships: BTreeSet<_> = batch
        .iter()
        .map(|commission| commission.partner_program_id)
        .collect();
    let ids: Vec<i64> = memberships.iter().map(|membership| membership.get()).collect();
    let balances = lock_balances(connection, &ids).await?;
    let unpaid = payouts::unpaid(connection, &ids, currency).await?;
    let debts = payouts::debts(connection, &ids, currency).await?;
    let accounts = memberships
        .into_iter()
        .map(|membership| {
            let named = (membership, currency.as_str().to_owned());
            let account = Account {
                balance: balances.get(&named).copied().unwrap_or_default(),
                unpaid: unpaid.get(&membership).copied().unwrap_or_default(),
                debt: debts.get(&membership).copied().unwrap_or_default(),
            };
            (membership, account)
        })
        .collect();
    let payables = batch
        .iter()
        .map(|commission| {
            let amount = commission.state.payable(now).map_err(|_| {
                StorageError::corrupt("commissions", "status", commission.commission_id.get())
            })?;
            Ok(Payable {
                partner_program_id: commission.partner_program_id,
                amount,
            })
        })
        .collect::<StorageResult<Vec<_>>>()?;
    Ok(pay_all(&payables, accounts))
}

async fn write(
    connection: &mut PgConnection,
    order: &PayoutOrder,
    settled: &Settled,
) -> StorageResult<PayoutId> {
    let Settled {
        currency,
        batch,
        paid,
    } = settled;
    let key = order.idempotency_key.as_ref();
    let new = NewPayout {
        event_id: order.event_id,
        program_id: order.program_id,
        currency: *currency,
        amount: settled.amount(),
        commission_count: batch.len(),
        reference: order.reference.as_ref().map(Text::as_str),
        idempotency_key: key.map(|named| named.key.as_str()),
        request_hash: key.map(|named| named.request_hash.as_slice()),
        created_at: order.now,
    };
    let payout_id = payouts::insert(connection, &new).await?;
    let mut ids = Vec::with_capacity(batch.len());
    let mut statuses = Vec::with_capacity(batch.len());
    let mut entries = Vec::with_capacity(batch.len());
    for (commission, paid) in batch.iter().zip(paid) {
        let id = commission.commission_id.get();
        let status = commission
            .state
            .status
            .pay()
            .map_err(|_| StorageError::corrupt("commissions", "status", id))?;
        ids.push(id);
        statuses.push(status.as_str());
        let settlement = (paid.settled > Cents::ZERO).then(|| ledger::settlement(paid.settled));
        let movements = iter::once(ledger::payout(&paid.deducted)).chain(settlement);
        entries.extend(movements.map(|entry| NewEntry {
            entry_group: order.event_id,
            entry,
            program_id: order.program_id,
            partner_program_id: commission.partner_program_id,
            partner_id: commission.partner_id,
            commission_id: commission.commission_id,
            sale_id: commission.sale_id,
            currency: *currency,
        }));
    }
    payouts::mark_paid(connection, payout_id, &ids, &statuses, order.now).await?;
    post(connection, &entries).await?;
    Ok(payout_id)
}

const NOT_PAYABLE: &str = "Some commissions cannot be paid; nothing was paid";

pub const ANOTHER_AMOUNT: ApiError =
    ApiError::Conflict("expected_amount_cents is not what would be paid now: nothing was paid");

pub const NOTHING_TO_PAY: ApiError = ApiError::refusal("There is nothing to pay");

fn mixed<'a>(currencies: impl Iterator<Item = &'a str>) -> ApiError {
    let names: Vec<_> = currencies.collect();
    ApiError::bad_request(format!(
        "A payout is in one currency; these commissions are in {}",
        names.join(", ")
    ))
}
