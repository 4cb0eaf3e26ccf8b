//! What memberships are owed.

use std::collections::HashMap;

use sqlx::PgConnection;

use crate::error::StorageResult;
use domain::ids::{PartnerProgramId, ProgramId};
use domain::money::{Cents, Currency};

/// A membership's, in one currency.
#[derive(Debug, Clone, Copy)]
pub struct Balance {
    pub currency: Currency,
    /// The sum of its ledger entries.
    pub balance: Cents,
    /// What is left of unpaid commissions, less debts: what payouts will move. Below zero, the partner owes it.
    pub owed: Cents,
}

/// By membership; one that has earned nothing yet is not in the answer. In the order of currencies.
pub async fn of(
    connection: &mut PgConnection,
    memberships: &[i64],
) -> StorageResult<HashMap<PartnerProgramId, Vec<Balance>>> {
    let rows = sqlx::query!(
        r#"SELECT partner_program_id AS "partner_program_id!: PartnerProgramId", currency AS "currency!: Currency",
                  balance_cents AS "balance!: Cents", owed_cents AS "owed!: Cents"
           FROM partner_program_owed WHERE partner_program_id = ANY($1) ORDER BY currency"#,
        memberships,
    )
    .fetch_all(connection)
    .await?;
    let mut balances: HashMap<PartnerProgramId, Vec<Balance>> = HashMap::new();
    for row in rows {
        balances.entry(row.partner_program_id).or_default().push(Balance {
            currency: row.currency,
            balance: row.balance,
            owed: row.owed,
        });
    }
    Ok(balances)
}

/// What a program and its partners owe each other in a currency. Not a difference: one partner's debt pays no other.
#[derive(Debug, Clone, Copy)]
pub struct UnpaidOfProgram {
    pub currency: Currency,
    pub to_partners: Cents,
    pub by_partners: Cents,
}

/// By program, in the order of currencies; without what is settled.
pub async fn unpaid(
    connection: &mut PgConnection,
    programs: &[i64],
) -> StorageResult<HashMap<ProgramId, Vec<UnpaidOfProgram>>> {
    let rows = sqlx::query!(
        r#"SELECT m.program_id AS "program_id: ProgramId", b.currency AS "currency!: Currency",
                  coalesce(sum(b.owed_cents) FILTER (WHERE b.owed_cents > 0), 0)::bigint AS "to_partners!: Cents",
                  coalesce(-sum(b.owed_cents) FILTER (WHERE b.owed_cents < 0), 0)::bigint AS "by_partners!: Cents"
           FROM partner_programs m JOIN partner_program_owed b ON b.partner_program_id = m.id
           WHERE m.program_id = ANY($1) AND b.owed_cents <> 0
           GROUP BY m.program_id, b.currency ORDER BY b.currency"#,
        programs,
    )
    .fetch_all(connection)
    .await?;
    let mut unpaid: HashMap<ProgramId, Vec<UnpaidOfProgram>> = HashMap::new();
    for row in rows {
        unpaid.entry(row.program_id).or_default().push(UnpaidOfProgram {
            currency: row.currency,
            to_partners: row.to_partners,
            by_partners: row.by_partners,
        });
    }
    Ok(unpaid)
}
