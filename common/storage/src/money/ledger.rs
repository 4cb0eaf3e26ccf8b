//! `ledger_entries`, one row for each movement, and the balances that cache their sums.

use std::collections::BTreeMap;

use sqlx::{PgConnection, PgPool};
use uuid::Uuid;

use crate::error::StorageResult;
use crate::operations::alone::begin_alone;
use domain::earnings::ledger::Entry;
use domain::ids::{CommissionId, EventId, PartnerId, PartnerProgramId, ProgramId, SaleId};
use domain::money::{Cents, Currency};

#[derive(Debug)]
pub struct NewEntry {
    /// The event that caused it.
    pub entry_group: EventId,
    pub entry: Entry,
    pub program_id: ProgramId,
    pub partner_program_id: PartnerProgramId,
    pub partner_id: PartnerId,
    pub commission_id: CommissionId,
    /// `None` for a commission that was added by hand.
    pub sale_id: Option<SaleId>,
    pub currency: Currency,
}

/// Appends entries and moves the balances by their sums, in one statement. Each balance is updated once, in
/// ascending order, memberships before partners.
pub async fn post(connection: &mut PgConnection, entries: &[NewEntry]) -> StorageResult<()> {
    if entries.is_empty() {
        return Ok(());
    }
    columns!(new in entries =>
        groups: Uuid = new.entry_group.get(),
        kinds: &str = new.entry.kind.as_str(),
        programs: i64 = new.program_id.get(),
        memberships: i64 = new.partner_program_id.get(),
        partners: i64 = new.partner_id.get(),
        commissions: i64 = new.commission_id.get(),
        sales: Option<i64> = new.sale_id.map(SaleId::get),
        currencies: &str = new.currency.as_str(),
        amounts: i64 = new.entry.amount.get(),
        requested: i64 = new.entry.requested.get(),
        shortfalls: i64 = new.entry.shortfall.get(),
    );
    let of_memberships = sums(entries, |new| new.partner_program_id.get());
    let of_partners = sums(entries, |new| new.partner_id.get());
    execute!(
        connection,
        "WITH entries AS (
             INSERT INTO ledger_entries (entry_group, kind, program_id, partner_program_id, partner_id,
                 commission_id, sale_id, currency, amount_cents, requested_cents, shortfall_cents)
             SELECT * FROM UNNEST($1::uuid[], $2::text[], $3::bigint[], $4::bigint[], $5::bigint[],
                 $6::bigint[], $7::bigint[], $8::text[], $9::bigint[], $10::bigint[], $11::bigint[])
         ), memberships AS (
             INSERT INTO partner_program_balances AS b (partner_program_id, currency, balance_cents)
             SELECT * FROM UNNEST($12::bigint[], $13::text[], $14::bigint[])
             ON CONFLICT (partner_program_id, currency)
             DO UPDATE SET balance_cents = b.balance_cents + excluded.balance_cents
             RETURNING 1
         )
         -- Counted, so that all of them are locked before the first partner is.
         INSERT INTO partner_balances AS b (partner_id, currency, balance_cents)
         SELECT p.id, p.currency, p.cents
         FROM (SELECT count(*) FROM memberships) AS locked
         CROSS JOIN UNNEST($15::bigint[], $16::text[], $17::bigint[]) AS p (id, currency, cents)
         ON CONFLICT (partner_id, currency)
         DO UPDATE SET balance_cents = b.balance_cents + excluded.balance_cents",
        &groups,
        &kinds as &[&str],
        &programs,
        &memberships,
        &partners,
        &commissions,
        &sales as &[Option<i64>],
        &currencies as &[&str],
        &amounts,
        &requested,
        &shortfalls,
        &of_memberships.ids,
        &of_memberships.currencies as &[&str],
        &of_memberships.cents,
        &of_partners.ids,
        &of_partners.currencies as &[&str],
        &of_partners.cents,
    );
    Ok(())
}

/// Sets every balance to the sum of its ledger entries. Returns how many balances were wrong.
///
/// Posting appends entries first and then moves the balance, in one transaction. The lock waits for
/// transactions that are between these two steps. Later transactions add to the balance set here.
pub async fn rebuild_balances(pool: &PgPool) -> StorageResult<u64> {
    let mut transaction = begin_alone(pool, "partner_program_balances, partner_balances").await?;
    macro_rules! rebuild {
        ($table:literal, $owner:literal) => {
            fetch_scalar!(
                &mut *transaction,
                "WITH sums AS (
                     SELECT " + $owner + ", currency, sum(amount_cents)::bigint AS cents FROM ledger_entries GROUP BY 1, 2
                 ), without_entries AS (
                     UPDATE " + $table + " b SET balance_cents = 0
                     WHERE balance_cents <> 0 AND NOT EXISTS (
                         SELECT FROM sums s WHERE s." + $owner + " = b." + $owner + " AND s.currency = b.currency)
                     RETURNING 1
                 ), corrected AS (
                     INSERT INTO " + $table + " AS b (" + $owner + ", currency, balance_cents) SELECT * FROM sums
                     ON CONFLICT (" + $owner + r#", currency) DO UPDATE SET balance_cents = excluded.balance_cents
                     WHERE b.balance_cents <> excluded.balance_cents
                     RETURNING 1
                 )
                 SELECT (SELECT count(*) FROM without_entries) + (SELECT count(*) FROM corrected) AS "wrong!""#,
            )
        };
    }
    let memberships = rebuild!("partner_program_balances", "partner_program_id");
    let partners = rebuild!("partner_balances", "partner_id");
    transaction.commit().await?;
    Ok(u64::try_from(memberships + partners).unwrap_or_default())
}

/// Locks the balances of these memberships, in ascending order. A balance without a row is zero and absent.
pub async fn lock_balances(
    connection: &mut PgConnection,
    memberships: &[i64],
) -> StorageResult<BTreeMap<(PartnerProgramId, String), Cents>> {
    let rows = fetch_all!(
        connection,
        r#"SELECT partner_program_id AS "partner_program_id: PartnerProgramId", currency, balance_cents AS "balance: Cents"
           FROM partner_program_balances
           WHERE partner_program_id = ANY($1) ORDER BY partner_program_id, currency FOR UPDATE"#,
        memberships,
    );
    Ok(rows
        .into_iter()
        .map(|row| ((row.partner_program_id, row.currency), row.balance))
        .collect())
}

/// Changes of balances as columns, in lock order.
struct Sums<'a> {
    ids: Vec<i64>,
    currencies: Vec<&'a str>,
    cents: Vec<i64>,
}

fn sums(entries: &[NewEntry], of: impl Fn(&NewEntry) -> i64) -> Sums<'_> {
    let mut by_balance: BTreeMap<(i64, &str), i64> = BTreeMap::new();
    for new in entries {
        *by_balance.entry((of(new), new.currency.as_str())).or_default() += new.entry.amount.get();
    }
    Sums {
        ids: by_balance.keys().map(|(id, _)| *id).collect(),
        currencies: by_balance.keys().map(|(_, currency)| *currency).collect(),
        cents: by_balance.values().copied().collect(),
    }
}
