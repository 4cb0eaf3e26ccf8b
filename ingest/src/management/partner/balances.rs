//! `GET /api/partner/balances`: what a partner is owed and has received, by program and currency.

use std::collections::HashMap;

use chrono::NaiveDate;
use storage::reads::partner_view::{self, PartnerBalance, PartnerDue};

use crate::management::prelude::*;

#[derive(Debug, Serialize, ToSchema)]
pub struct PartnerBalanceView {
    partner_program_id: i64,
    program_id: i64,
    program_name: String,
    /// `draft`, `live` or `archived`.
    program_status: String,
    currency: String,
    /// What the ledger adds up to. A refund takes it to zero at most while its commission is unpaid, so it can be more than is owed, until the
    /// next payout settles that.
    balance_cents: i64,
    /// Pending and approved, less the debt: what payouts will move. Below zero, the partner owes it.
    owed_cents: i64,
    /// Earned, in its hold period.
    pending_cents: i64,
    /// Earned, to be paid.
    approved_cents: i64,
    /// Received.
    paid_cents: i64,
    /// What payouts will hold back: it was taken from commissions after they had been paid.
    debt_cents: i64,
    /// What is pending, by the day on which it can be paid: earliest first.
    dues: Vec<DueView>,
}

#[derive(Debug, Serialize, ToSchema)]
pub struct DueView {
    /// UTC: the hold period ends on it; the advertiser may want to look at some of it first. Null, and last: when they approve it by hand.
    day: Option<NaiveDate>,
    amount_cents: i64,
}

view! { |row: PartnerDue| DueView {
    day;
    amount_cents: row.cents,
} }

/// List a partner's balances
#[utoipa::path(
    get,
    path = "/api/partner/balances",
    operation_id = "list_partner_balances",
    params(PageQuery),
    responses((status = 200, description = "A page of them.", body = Listed<PartnerBalanceView>))
)]
pub async fn list(State(app): State<App>, partner: PartnerUser, page: Page) -> List<PartnerBalanceView> {
    let mut connection = app.management.acquire().await?;
    let (user_id, now) = (partner.user.user_id, app.clock.now());
    let (rows, total) = partner_view::balances(&mut connection, user_id, now, page.window()).await?;
    let memberships: Vec<i64> = rows.iter().map(|row| row.partner_program_id).collect();
    let mut dues: HashMap<(i64, String), Vec<DueView>> = HashMap::new();
    for due in partner_view::dues(&mut connection, &memberships, now).await? {
        let balance = (due.partner_program_id, due.currency.clone());
        dues.entry(balance).or_default().push(due.into());
    }
    let view = |row: PartnerBalance| PartnerBalanceView {
        dues: dues
            .remove(&(row.partner_program_id, row.currency.clone()))
            .unwrap_or_default(),
        partner_program_id: row.partner_program_id,
        program_id: row.program_id,
        program_name: row.program_name,
        program_status: row.program_status,
        currency: row.currency,
        balance_cents: row.balance_cents,
        owed_cents: row.owed_cents,
        pending_cents: row.pending_cents,
        approved_cents: row.approved_cents,
        paid_cents: row.paid_cents,
        debt_cents: row.debt_cents,
    };
    Ok(page.listed(rows.into_iter().map(view), total))
}
