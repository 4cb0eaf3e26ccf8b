//! `payouts`: locks commissions to be paid, writes the payout, and reads payouts back.
//!
//! Locks are taken in the same order as for all money: commissions ascending, then the memberships' balances
//! ([`lock_balances`](crate::money::ledger::lock_balances)), then the rows that
//! [`post`](crate::money::ledger::post) writes. The caller's idempotency key is locked before all of these.
//! No other code locks it.

use std::collections::{BTreeMap, BTreeSet};

use chrono::{DateTime, Utc};
use sqlx::PgConnection;

use crate::error::{StorageResult, expect_rows};
use domain::earnings::commission::{CommissionStatus, NeedsApproval};
use domain::earnings::payout::CommissionState;
use domain::ids::{CommissionId, EventId, PartnerId, PartnerProgramId, PayoutId, ProgramId, SaleId};
use domain::money::{Cents, Currency};
use domain::programs::outbound_event::WantedEvents;

#[derive(Debug, Clone)]
pub struct LockedCommission {
    pub commission_id: CommissionId,
    /// `None` for a commission that was added by hand.
    pub sale_id: Option<SaleId>,
    pub partner_program_id: PartnerProgramId,
    pub partner_id: PartnerId,
    pub currency: Currency,
    pub state: CommissionState,
    pub wanted_events: WantedEvents,
}

/// The program's commissions that meet the condition, locked in ascending order.
macro_rules! lock_commissions {
    ($connection:expr, $condition:literal, $($argument:expr),+) => {{
        Ok(sqlx::query!(
            r#"SELECT c.id AS "id: CommissionId", c.sale_id AS "sale_id: SaleId",
                      c.partner_program_id AS "partner_program_id: PartnerProgramId", c.partner_id AS "partner_id: PartnerId",
                      c.currency AS "currency: Currency", c.amount_cents AS "amount: Cents", c.deducted_cents AS "deducted: Cents",
                      c.status AS "status: CommissionStatus", c.hold_until, c.approved_at IS NOT NULL AS "approved!",
                      c.paid_at IS NOT NULL AS "paid_out!", cardinality(c.signals) > 0 AS "flagged!",
                      p.needs_approval AS "needs_approval: NeedsApproval", p.wanted_events AS "wanted_events: WantedEvents"
               FROM commissions c JOIN programs p ON p.id = c.program_id
               WHERE c.program_id = $1 AND "# + $condition + " FOR UPDATE OF c",
            $($argument),+
        )
        .map(|row| LockedCommission {
            commission_id: row.id,
            sale_id: row.sale_id,
            partner_program_id: row.partner_program_id,
            partner_id: row.partner_id,
            currency: row.currency,
            state: CommissionState {
                amount: row.amount,
                deducted: row.deducted,
                status: row.status,
                hold_until: row.hold_until,
                needs_approval: row.needs_approval.applies(row.flagged),
                approved: row.approved,
                paid_out: row.paid_out,
            },
            wanted_events: row.wanted_events,
        })
        .fetch_all($connection)
        .await?)
    }};
}

/// Serialises requests with the same key: the second request finds the payout of the first.
pub async fn lock_key(connection: &mut PgConnection, program_id: ProgramId, key: &str) -> StorageResult<()> {
    execute!(
        connection,
        "SELECT pg_advisory_xact_lock(hashtextextended('payout ' || $1::bigint || ' ' || $2::text, 0))",
        program_id.get(),
        key,
    );
    Ok(())
}

#[derive(Debug)]
pub struct KeyedPayout {
    pub payout_id: PayoutId,
    /// Hash of the request; `None` if no hash was stored.
    pub request_hash: Option<Vec<u8>>,
}

pub async fn find_by_key(
    connection: &mut PgConnection,
    program_id: ProgramId,
    key: &str,
) -> StorageResult<Option<KeyedPayout>> {
    Ok(fetch_optional!(
        connection,
        KeyedPayout,
        "SELECT id AS payout_id, request_hash FROM payouts WHERE program_id = $1 AND idempotency_key = $2",
        program_id.get(),
        key,
    ))
}

pub async fn lock_listed(
    connection: &mut PgConnection,
    program_id: ProgramId,
    ids: &[i64],
) -> StorageResult<Vec<LockedCommission>> {
    lock_commissions!(connection, "c.id = ANY($2) ORDER BY c.id", program_id.get(), ids)
}

/// The ids that do not belong to the program, each with its reason.
pub fn not_found(wanted: &[i64], found: &[LockedCommission]) -> BTreeMap<i64, String> {
    let found: BTreeSet<i64> = found
        .iter()
        .map(|commission| commission.commission_id.get())
        .collect();
    wanted
        .iter()
        .filter(|id| !found.contains(id))
        .map(|id| (*id, "not found".to_owned()))
        .collect()
}

/// The currencies in which a program has payable commissions of partners who are not suspended, sorted.
pub async fn payable_currencies(
    connection: &mut PgConnection,
    program_id: ProgramId,
    now: DateTime<Utc>,
) -> StorageResult<Vec<String>> {
    Ok(fetch_scalars!(
        connection,
        "SELECT DISTINCT c.currency FROM commissions c JOIN programs p ON p.id = c.program_id
         WHERE c.program_id = $1 AND c.paid_at IS NULL AND c.status IN ('approved', 'refunded')
           AND can_be_paid(c, p.needs_approval, $2)
           AND c.partner_program_id NOT IN (SELECT id FROM partner_programs WHERE program_id = $1 AND status = 'suspended')
         ORDER BY c.currency",
        program_id.get(),
        now,
    ))
}

/// Locks the oldest `limit` commissions that are payable in a currency (see [`CommissionState::payable`]), of
/// partners who are not suspended. Waits for commissions that another payout locks; leaves out those it pays.
pub async fn lock_payable(
    connection: &mut PgConnection,
    program_id: ProgramId,
    currency: Currency,
    now: DateTime<Utc>,
    limit: i64,
) -> StorageResult<Vec<LockedCommission>> {
    lock_commissions!(
        connection,
        "c.currency = $2 AND c.paid_at IS NULL AND c.status IN ('approved', 'refunded')
         AND can_be_paid(c, p.needs_approval, $3)
         AND c.partner_program_id NOT IN (SELECT id FROM partner_programs WHERE program_id = $1 AND status = 'suspended')
         ORDER BY c.id LIMIT $4",
        program_id.get(),
        currency.as_str(),
        now,
        limit
    )
}

/// The unpaid remainder of all commissions of these memberships. The caller holds the locks of their
/// balances. A transaction that changes a commission moves its balance too, so the two agree.
pub async fn unpaid(
    connection: &mut PgConnection,
    memberships: &[i64],
    currency: Currency,
) -> StorageResult<BTreeMap<PartnerProgramId, Cents>> {
    let rows = fetch_all!(
        connection,
        r#"SELECT partner_program_id AS "partner_program_id: PartnerProgramId",
                  sum(amount_cents - deducted_cents)::bigint AS "unpaid!: Cents"
           FROM commissions
           WHERE partner_program_id = ANY($1) AND currency = $2 AND paid_at IS NULL AND status <> 'reversed'
           GROUP BY partner_program_id"#,
        memberships,
        currency.as_str(),
    );
    Ok(rows
        .into_iter()
        .map(|row| (row.partner_program_id, row.unpaid))
        .collect())
}

/// Debts of these memberships. The caller holds the locks of their balances, which refunds move, too.
pub async fn debts(
    connection: &mut PgConnection,
    memberships: &[i64],
    currency: Currency,
) -> StorageResult<BTreeMap<PartnerProgramId, Cents>> {
    let rows = fetch_all!(
        connection,
        r#"SELECT partner_program_id AS "partner_program_id!: PartnerProgramId", debt_cents AS "debt!: Cents"
           FROM partner_program_debts
           WHERE partner_program_id = ANY($1) AND currency = $2"#,
        memberships,
        currency.as_str(),
    );
    Ok(rows
        .into_iter()
        .map(|row| (row.partner_program_id, row.debt))
        .collect())
}

#[derive(Debug)]
pub struct NewPayout<'a> {
    pub event_id: EventId,
    pub program_id: ProgramId,
    pub currency: Currency,
    pub amount: Cents,
    pub commission_count: usize,
    pub reference: Option<&'a str>,
    pub idempotency_key: Option<&'a str>,
    pub request_hash: Option<&'a [u8]>,
    pub created_at: DateTime<Utc>,
}

pub async fn insert(connection: &mut PgConnection, new: &NewPayout<'_>) -> StorageResult<PayoutId> {
    Ok(fetch_scalar!(
        connection,
        r#"INSERT INTO payouts (event_id, program_id, currency, amount_cents, commission_count, reference, idempotency_key,
             created_at, request_hash)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9) RETURNING id AS "id: PayoutId""#,
        new.event_id.get(),
        new.program_id.get(),
        new.currency.as_str(),
        new.amount.get(),
        i32::try_from(new.commission_count).unwrap_or(i32::MAX),
        new.reference,
        new.idempotency_key,
        new.created_at,
        new.request_hash,
    ))
}

/// Marks locked, payable commissions as paid. A commission that a refund has deducted from stays `refunded`.
pub async fn mark_paid(
    connection: &mut PgConnection,
    payout_id: PayoutId,
    ids: &[i64],
    statuses: &[&str],
    now: DateTime<Utc>,
) -> StorageResult<()> {
    let updated = execute!(
        connection,
        "UPDATE commissions c SET status = n.status, paid_at = $4, payout_id = $3
         FROM UNNEST($1::bigint[], $2::text[]) AS n (id, status) WHERE c.id = n.id AND c.paid_at IS NULL",
        ids,
        statuses as &[&str],
        payout_id.get(),
        now,
    );
    expect_rows("commissions", ids.len(), updated)
}

#[derive(Debug)]
pub struct StoredPayout {
    pub id: i64,
    pub currency: String,
    pub amount_cents: i64,
    pub commission_count: i32,
    pub reference: Option<String>,
    pub created_at: DateTime<Utc>,
}

/// `None` when the program has no such payout.
pub async fn find(
    connection: &mut PgConnection,
    program_id: ProgramId,
    payout_id: PayoutId,
) -> StorageResult<Option<StoredPayout>> {
    Ok(fetch_optional!(
        connection,
        StoredPayout,
        "SELECT id, currency, amount_cents, commission_count, reference, created_at FROM payouts
         WHERE id = $1 AND program_id = $2",
        payout_id.get(),
        program_id.get(),
    ))
}

#[derive(Debug)]
pub struct PartnerShare {
    pub partner_program_id: i64,
    pub partner_id: i64,
    pub partner_name: Option<String>,
    pub commission_count: i64,
    pub amount_cents: i64,
    pub requested_cents: i64,
    pub shortfall_cents: i64,
}

pub async fn shares(connection: &mut PgConnection, payout_id: PayoutId) -> StorageResult<Vec<PartnerShare>> {
    Ok(fetch_all!(
        connection,
        PartnerShare,
        r#"SELECT c.partner_program_id, c.partner_id, p.name AS "partner_name?", count(*) AS "commission_count!",
                  -sum(l.amount_cents)::bigint AS "amount_cents!", sum(l.requested_cents)::bigint AS "requested_cents!",
                  sum(l.shortfall_cents)::bigint AS "shortfall_cents!"
           FROM commissions c
           JOIN ledger_entries l ON l.commission_id = c.id AND l.kind = 'payout'
           LEFT JOIN partners p ON p.id = c.partner_id
           WHERE c.payout_id = $1
           GROUP BY c.partner_program_id, c.partner_id, p.name ORDER BY c.partner_program_id"#,
        payout_id.get(),
    ))
}

#[derive(Debug)]
pub struct PaidCommission {
    pub commission_id: i64,
    /// `None`, as is the transaction, for a commission that was added by hand and makes up for no sale.
    pub sale_id: Option<i64>,
    pub transaction_id: Option<String>,
    pub partner_id: i64,
    pub partner_name: Option<String>,
    pub partner_email: Option<String>,
    pub amount_cents: i64,
    pub requested_cents: i64,
    pub shortfall_cents: i64,
    pub currency: String,
    pub paid_at: Option<DateTime<Utc>>,
}

/// The next `limit` commissions after `after`, oldest first.
pub async fn following(
    connection: &mut PgConnection,
    payout_id: PayoutId,
    after: i64,
    limit: i64,
) -> StorageResult<Vec<PaidCommission>> {
    Ok(fetch_all!(
        connection,
        PaidCommission,
        r#"SELECT c.id AS commission_id, s.id AS "sale_id?", s.processor_event_id AS "transaction_id?", c.partner_id,
                  p.name AS "partner_name?", p.email AS "partner_email?", -l.amount_cents AS "amount_cents!",
                  l.requested_cents, l.shortfall_cents, c.currency, c.paid_at
           FROM commissions c
           LEFT JOIN sale_events s ON s.id = coalesce(c.sale_id, c.for_sale_id)
           JOIN ledger_entries l ON l.commission_id = c.id AND l.kind = 'payout'
           LEFT JOIN partners p ON p.id = c.partner_id
           WHERE c.payout_id = $1 AND c.id > $2 ORDER BY c.id LIMIT $3"#,
        payout_id.get(),
        after,
        limit,
    ))
}
