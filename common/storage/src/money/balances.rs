//! What programs owe their members.

use std::collections::HashMap;

use sqlx::PgConnection;

use crate::error::StorageResult;
use domain::ids::{PartnerProgramId, ProgramId};
use domain::money::{Cents, Currency};

#[derive(Debug, Clone, Copy)]
pub struct Balance {
    pub currency: Currency,
    /// The sum of the membership's ledger entries.
    pub balance: Cents,
    /// Unpaid commissions less deductions and debts: what payouts will move. Below zero, the partner owes it.
    pub owed: Cents,
}

/// Balances by membership, in the order of currencies. A membership without earnings is absent.
pub async fn of(
    connection: &mut PgConnection,
    memberships: &[i64],
) -> StorageResult<HashMap<PartnerProgramId, Vec<Balance>>> {
    let rows = fetch_all!(
        connection,
        r#"SELECT partner_program_id AS "partner_program_id!: PartnerProgramId", currency AS "currency!: Currency",
                  balance_cents AS "balance!: Cents", owed_cents AS "owed!: Cents"
           FROM partner_program_owed WHERE partner_program_id = ANY($1) ORDER BY currency"#,
        memberships,
    );
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

/// What a program and its partners owe each other in one currency. The two sums are not netted: one partner's
/// debt does not reduce what another partner is owed.
#[derive(Debug, Clone, Copy)]
pub struct UnpaidOfProgram {
    pub currency: Currency,
    pub to_partners: Cents,
    pub by_partners: Cents,
}

/// By program, in the order of currencies. Settled balances are left out.
pub async fn unpaid(
    connection: &mut PgConnection,
    programs: &[i64],
) -> StorageResult<HashMap<ProgramId, Vec<UnpaidOfProgram>>> {
    let rows = fetch_all!(
        connection,
        r#"SELECT m.program_id AS "program_id: ProgramId", b.currency AS "currency!: Currency",
                  coalesce(sum(b.owed_cents) FILTER (WHERE b.owed_cents > 0), 0)::bigint AS "to_partners!: Cents",
                  coalesce(-sum(b.owed_cents) FILTER (WHERE b.owed_cents < 0), 0)::bigint AS "by_partners!: Cents"
           FROM partner_programs m JOIN partner_program_owed b ON b.partner_program_id = m.id
           WHERE m.program_id = ANY($1) AND b.owed_cents <> 0
           GROUP BY m.program_id, b.currency ORDER BY b.currency"#,
        programs,
    );
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
