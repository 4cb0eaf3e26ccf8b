//! Commissions that are changed or added by hand. Locks are taken in the order of refunds and payouts:
//! commissions ascending, then balances.

use chrono::{DateTime, Utc};
use sqlx::PgConnection;

use crate::error::{StorageResult, expect_rows};
use crate::money::ledger::{NewEntry, post};
use crate::money::payouts::LockedCommission;
use crate::reads::refund_rollups;
use domain::earnings::adjustment::{Adjusted, Change};
use domain::earnings::ledger::raised;
use domain::ids::{CommissionId, EventId, PartnerId, PartnerProgramId, ProgramId, SaleId};
use domain::money::{AmountCents, Cents, Currency};
use domain::programs::outbound_event::WantedEvents;

#[derive(Debug)]
pub struct NewAdjustment<'a> {
    pub event_id: EventId,
    pub program_id: ProgramId,
    pub change: Change,
    pub reason: &'a str,
    pub now: DateTime<Utc>,
}

/// Writes changes of commissions. The caller holds the locks of their rows and balances.
pub async fn save(
    connection: &mut PgConnection,
    new: &NewAdjustment<'_>,
    adjusted: &[(LockedCommission, Adjusted)],
) -> StorageResult<()> {
    let rejected = (new.change == Change::Reject).then_some(new.reason);
    let updated = write_batch!(
        &mut *connection,
        "UPDATE commissions c
         SET amount_cents = c.amount_cents + n.cents, adjusted_cents = c.adjusted_cents + n.cents, status = n.status,
             adjusted_at = $6, rejected_at = coalesce($4, c.rejected_at), rejection_reason = coalesce($5, c.rejection_reason)
         FROM UNNEST($1::bigint[], $2::bigint[], $3::text[]) AS n (id, cents, status) WHERE c.id = n.id",
        (commission, adjusted) in adjusted =>
            ids: i64 = commission.commission_id.get(),
            amounts: i64 = adjusted.by.get(),
            statuses: &str = adjusted.status.as_str();
            rejected.map(|_| new.now), rejected, new.now
    );
    expect_rows("commissions", adjusted.len(), updated)?;
    post(connection, &entries(new, adjusted)).await?;
    columns!((commission, _) in adjusted => ids: i64 = commission.commission_id.get());
    refund_rollups::count_adjustments(connection, &ids, new.event_id.get()).await
}

fn entries(new: &NewAdjustment<'_>, adjusted: &[(LockedCommission, Adjusted)]) -> Vec<NewEntry> {
    let moving = adjusted.iter().filter(|(_, adjusted)| adjusted.by != Cents::ZERO);
    moving
        .map(|(commission, adjusted)| NewEntry {
            entry_group: new.event_id,
            entry: adjusted.entry,
            program_id: new.program_id,
            partner_program_id: commission.partner_program_id,
            partner_id: commission.partner_id,
            commission_id: commission.commission_id,
            sale_id: commission.sale_id,
            currency: commission.currency,
        })
        .collect()
}

/// A commission without a sale of its own. It is approved at once.
#[derive(Debug)]
pub struct AddedCommission<'a> {
    pub event_id: EventId,
    pub program_id: ProgramId,
    pub partner_program_id: PartnerProgramId,
    pub partner_id: PartnerId,
    pub amount: AmountCents,
    pub currency: Currency,
    pub note: &'a str,
    /// The sale that the commission makes up for.
    pub for_sale: Option<SaleId>,
    pub idempotency_key: Option<&'a str>,
    pub request_hash: Option<&'a [u8]>,
    pub now: DateTime<Utc>,
}

pub async fn add(
    connection: &mut PgConnection,
    new: &AddedCommission<'_>,
) -> StorageResult<(CommissionId, WantedEvents)> {
    let added = fetch_one!(
        &mut *connection,
        r#"INSERT INTO commissions (program_id, partner_program_id, partner_id, amount_cents, adjusted_cents, currency, note,
             status, hold_until, approved_at, created_at, idempotency_key, request_hash, for_sale_id)
           VALUES ($1, $2, $3, $4, $4, $5, $6, 'approved', $7, $7, $7, $8, $9, $10)
           RETURNING id AS "id: CommissionId",
                     (SELECT p.wanted_events FROM programs p WHERE p.id = $1) AS "wanted_events!: WantedEvents""#,
        new.program_id.get(),
        new.partner_program_id.get(),
        new.partner_id.get(),
        new.amount.get(),
        new.currency.as_str(),
        new.note,
        new.now,
        new.idempotency_key,
        new.request_hash,
        new.for_sale.map(SaleId::get),
    );
    let entry = NewEntry {
        entry_group: new.event_id,
        entry: raised(Cents::from(new.amount)),
        program_id: new.program_id,
        partner_program_id: new.partner_program_id,
        partner_id: new.partner_id,
        commission_id: added.id,
        sale_id: None,
        currency: new.currency,
    };
    post(connection, &[entry]).await?;
    Ok((added.id, added.wanted_events))
}

#[derive(Debug)]
pub struct KeyedCommission {
    pub commission_id: CommissionId,
    pub request_hash: Option<Vec<u8>>,
}

pub async fn find_by_key(
    connection: &mut PgConnection,
    program_id: ProgramId,
    key: &str,
) -> StorageResult<Option<KeyedCommission>> {
    Ok(fetch_optional!(
        connection,
        KeyedCommission,
        "SELECT id AS commission_id, request_hash FROM commissions WHERE program_id = $1 AND idempotency_key = $2",
        program_id.get(),
        key,
    ))
}

/// Reserves the idempotency key for an adjustment that this transaction makes. Waits for another transaction
/// that has the same key. If an adjustment was made under the key before, returns its request's hash.
pub async fn take_key(
    connection: &mut PgConnection,
    program_id: ProgramId,
    key: &str,
    request_hash: &[u8],
    now: DateTime<Utc>,
) -> StorageResult<Option<Vec<u8>>> {
    let taken = execute!(
        &mut *connection,
        "INSERT INTO adjustment_keys (program_id, idempotency_key, request_hash, adjusted_at) VALUES ($1, $2, $3, $4)
         ON CONFLICT DO NOTHING",
        program_id.get(),
        key,
        request_hash,
        now,
    );
    if taken == 1 {
        return Ok(None);
    }
    let made = fetch_scalar!(
        connection,
        "SELECT request_hash FROM adjustment_keys WHERE program_id = $1 AND idempotency_key = $2",
        program_id.get(),
        key,
    );
    Ok(Some(made))
}

/// A sale that a commission may make up for.
#[derive(Debug, Clone, Copy)]
pub struct UnpaidSale {
    pub sale_id: SaleId,
    /// The sale has a commission in force, or this membership has already been given one for it by hand.
    pub earned: bool,
}

/// Locks the sale. Of two concurrent requests for it, the second sees the commission of the first.
pub async fn lock_sale(
    connection: &mut PgConnection,
    program_id: ProgramId,
    transaction_id: &str,
    partner_program_id: PartnerProgramId,
) -> StorageResult<Option<UnpaidSale>> {
    let Some(id) = fetch_optional_scalar!(
        &mut *connection,
        "SELECT id FROM sale_events
         WHERE program_id = $1 AND processor_event_id = $2 AND NOT is_test AND duplicate_of IS NULL FOR UPDATE",
        program_id.get(),
        transaction_id,
    )
    else {
        return Ok(None);
    };
    let earned = fetch_scalar!(
        connection,
        r#"SELECT EXISTS (SELECT 1 FROM commissions WHERE sale_id = $1 AND superseded_at IS NULL
                          UNION ALL
                          SELECT 1 FROM commissions
                          WHERE for_sale_id = $1 AND partner_program_id = $2 AND rejected_at IS NULL) AS "earned!""#,
        id,
        partner_program_id.get(),
    );
    Ok(Some(UnpaidSale {
        sale_id: SaleId::new(id),
        earned,
    }))
}
