//! `ledger_entries` and the balances that cache them.

use std::collections::BTreeMap;

use sqlx::PgConnection;
use uuid::Uuid;

use super::StorageResult;
use crate::domain::ids::{CommissionId, EventId, PartnerId, PartnerProgramId, ProgramId, SaleId};
use crate::domain::ledger::{Account, Entry};
use crate::domain::money::{Cents, Currency};

/// One entry with everything it refers to.
#[derive(Debug)]
pub struct NewEntry {
    /// The event that caused it; the entries of one event sum to zero.
    pub entry_group: EventId,
    pub entry: Entry,
    pub program_id: ProgramId,
    pub partner_program_id: PartnerProgramId,
    pub partner_id: PartnerId,
    pub commission_id: CommissionId,
    pub sale_id: SaleId,
    pub currency: Currency,
}

/// Appends entries and moves the balances by their sums: one row a balance, ascending.
pub async fn post(connection: &mut PgConnection, entries: &[NewEntry]) -> StorageResult<()> {
    if entries.is_empty() {
        return Ok(());
    }
    append(connection, entries).await?;
    let mut memberships: BTreeMap<(i64, &str), i64> = BTreeMap::new();
    let mut partners: BTreeMap<(i64, &str), i64> = BTreeMap::new();
    for new in entries.iter().filter(|new| new.entry.account == Account::Partner) {
        let currency = new.currency.as_str();
        *memberships
            .entry((new.partner_program_id.get(), currency))
            .or_default() += new.entry.amount.get();
        *partners.entry((new.partner_id.get(), currency)).or_default() += new.entry.amount.get();
    }
    let (ids, currencies, amounts) = columns(&memberships);
    sqlx::query!(
        "INSERT INTO partner_program_balances AS b (partner_program_id, currency, balance_cents)
         SELECT * FROM UNNEST($1::bigint[], $2::text[], $3::bigint[])
         ON CONFLICT (partner_program_id, currency)
         DO UPDATE SET balance_cents = b.balance_cents + excluded.balance_cents",
        &ids,
        &currencies as &[&str],
        &amounts,
    )
    .execute(&mut *connection)
    .await?;
    let (ids, currencies, amounts) = columns(&partners);
    sqlx::query!(
        "INSERT INTO partner_balances AS b (partner_id, currency, balance_cents)
         SELECT * FROM UNNEST($1::bigint[], $2::text[], $3::bigint[])
         ON CONFLICT (partner_id, currency)
         DO UPDATE SET balance_cents = b.balance_cents + excluded.balance_cents",
        &ids,
        &currencies as &[&str],
        &amounts,
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// Locks the balances of these memberships, ascending; one without a row is zero and not in the answer.
pub async fn lock_balances(
    connection: &mut PgConnection,
    memberships: &[i64],
) -> StorageResult<BTreeMap<(PartnerProgramId, String), Cents>> {
    let rows = sqlx::query!(
        "SELECT partner_program_id, currency, balance_cents FROM partner_program_balances
         WHERE partner_program_id = ANY($1) ORDER BY partner_program_id, currency FOR UPDATE",
        memberships,
    )
    .fetch_all(connection)
    .await?;
    Ok(rows
        .into_iter()
        .map(|row| {
            (
                (PartnerProgramId::new(row.partner_program_id), row.currency),
                Cents::new(row.balance_cents),
            )
        })
        .collect())
}

async fn append(connection: &mut PgConnection, entries: &[NewEntry]) -> StorageResult<()> {
    let groups: Vec<Uuid> = entries.iter().map(|new| new.entry_group.get()).collect();
    let kinds: Vec<&str> = entries.iter().map(|new| new.entry.kind.as_str()).collect();
    let accounts: Vec<&str> = entries.iter().map(|new| new.entry.account.as_str()).collect();
    let programs: Vec<i64> = entries.iter().map(|new| new.program_id.get()).collect();
    let memberships: Vec<i64> = entries.iter().map(|new| new.partner_program_id.get()).collect();
    let partners: Vec<i64> = entries.iter().map(|new| new.partner_id.get()).collect();
    let commissions: Vec<i64> = entries.iter().map(|new| new.commission_id.get()).collect();
    let sales: Vec<i64> = entries.iter().map(|new| new.sale_id.get()).collect();
    let currencies: Vec<&str> = entries.iter().map(|new| new.currency.as_str()).collect();
    let amounts: Vec<i64> = entries.iter().map(|new| new.entry.amount.get()).collect();
    let requested: Vec<i64> = entries.iter().map(|new| new.entry.requested.get()).collect();
    let shortfalls: Vec<i64> = entries.iter().map(|new| new.entry.shortfall.get()).collect();
    sqlx::query!(
        "INSERT INTO ledger_entries (entry_group, kind, account, program_id, partner_program_id, partner_id,
             commission_id, sale_id, currency, amount_cents, requested_cents, shortfall_cents)
         SELECT * FROM UNNEST($1::uuid[], $2::text[], $3::text[], $4::bigint[], $5::bigint[], $6::bigint[],
             $7::bigint[], $8::bigint[], $9::text[], $10::bigint[], $11::bigint[], $12::bigint[])",
        &groups,
        &kinds as &[&str],
        &accounts as &[&str],
        &programs,
        &memberships,
        &partners,
        &commissions,
        &sales,
        &currencies as &[&str],
        &amounts,
        &requested,
        &shortfalls,
    )
    .execute(connection)
    .await?;
    Ok(())
}

fn columns<'a>(sums: &BTreeMap<(i64, &'a str), i64>) -> (Vec<i64>, Vec<&'a str>, Vec<i64>) {
    let ids = sums.keys().map(|(id, _)| *id).collect();
    let currencies = sums.keys().map(|(_, currency)| *currency).collect();
    (ids, currencies, sums.values().copied().collect())
}
