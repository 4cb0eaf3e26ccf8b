//! `…/commissions/totals`: what a program owes its partners, and has paid them.

use storage::reads::dashboard::{self, Money};

use crate::management::access::ReadProgram;
use crate::management::access::right::Read;
use crate::management::prelude::*;

/// In one currency. All amounts are in its cents.
#[derive(Debug, Serialize, ToSchema)]
pub struct CommissionTotals {
    currency: String,
    /// Cannot be paid yet.
    pending_cents: i64,
    /// What a payout of everything would move now: debts are off, and suspended partners left out.
    approved_cents: i64,
    /// What payouts have moved.
    paid_cents: i64,
}

impl CommissionTotals {
    fn new(currency: String, money: Money) -> Self {
        Self {
            currency,
            pending_cents: money.pending,
            approved_cents: money.approved,
            paid_cents: money.paid,
        }
    }
}

/// Add up commissions
///
/// Of a program, archived or not, one entry a currency. Test sales are in none of them.
#[utoipa::path(
    get,
    path = "/api/advertiser/affiliate-programs/{program_id}/commissions/totals",
    responses((status = 200, description = "As of now.", body = Data<Vec<CommissionTotals>>))
)]
pub async fn read_commission_totals(
    State(app): State<App>,
    mut read: ReadProgram<Read>,
) -> Answer<Vec<CommissionTotals>> {
    let program_id = read.ids.get();
    let mut totals = dashboard::money(&mut read.db, &[program_id], app.clock.now()).await?;
    let of_program = totals.remove(&program_id).unwrap_or_default();
    Ok(data(
        of_program
            .into_iter()
            .map(|(currency, money)| CommissionTotals::new(currency, money))
            .collect(),
    ))
}
