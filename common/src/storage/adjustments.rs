//! Commissions changed by hand, in the lock order of refunds and payouts: commissions ascending, then balances.

use chrono::{DateTime, Utc};
use sqlx::PgConnection;

use super::StorageResult;
use super::error::expect_rows;
use super::ledger::{NewEntry, post};
use super::payouts::LockedCommission;
use crate::domain::adjustment::{Adjusted, Change};
use crate::domain::ids::{EventId, ProgramId};
use crate::domain::money::Cents;

/// A change that the advertiser asked for.
#[derive(Debug)]
pub struct NewAdjustment<'a> {
    pub event_id: EventId,
    pub program_id: ProgramId,
    pub change: Change,
    pub reason: &'a str,
    pub now: DateTime<Utc>,
}

/// Writes changes of commissions whose rows and balances are locked.
pub async fn save(
    connection: &mut PgConnection,
    new: &NewAdjustment<'_>,
    adjusted: &[(LockedCommission, Adjusted)],
) -> StorageResult<()> {
    let rejected = (new.change == Change::Reject).then_some(new.reason);
    let ids: Vec<i64> = adjusted
        .iter()
        .map(|(commission, _)| commission.commission_id.get())
        .collect();
    let amounts: Vec<i64> = adjusted.iter().map(|(_, adjusted)| adjusted.by.get()).collect();
    let statuses: Vec<&str> = adjusted
        .iter()
        .map(|(_, adjusted)| adjusted.status.as_str())
        .collect();
    let updated = sqlx::query!(
        "UPDATE commissions c
         SET amount_cents = c.amount_cents + n.cents, adjusted_cents = c.adjusted_cents + n.cents, status = n.status,
             rejected_at = coalesce($4, c.rejected_at), rejection_reason = coalesce($5, c.rejection_reason)
         FROM UNNEST($1::bigint[], $2::bigint[], $3::text[]) AS n (id, cents, status) WHERE c.id = n.id",
        &ids,
        &amounts,
        &statuses as &[&str],
        rejected.map(|_| new.now),
        rejected,
    )
    .execute(&mut *connection)
    .await?;
    expect_rows("commissions", ids.len(), updated.rows_affected())?;
    post(connection, &entries(new, adjusted)).await
}

fn entries(new: &NewAdjustment<'_>, adjusted: &[(LockedCommission, Adjusted)]) -> Vec<NewEntry> {
    let moving = adjusted.iter().filter(|(_, adjusted)| adjusted.by != Cents::ZERO);
    moving
        .flat_map(|(commission, adjusted)| {
            adjusted.entries.map(|entry| NewEntry {
                entry_group: new.event_id,
                entry,
                program_id: new.program_id,
                partner_program_id: commission.partner_program_id,
                partner_id: commission.partner_id,
                commission_id: commission.commission_id,
                sale_id: commission.sale_id,
                currency: commission.currency,
            })
        })
        .collect()
}
