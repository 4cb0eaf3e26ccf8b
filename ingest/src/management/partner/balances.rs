//! `GET /api/partner/balances`: what a partner is owed and has received, by program and currency.

use std::collections::HashMap;

use chrono::NaiveDate;
use storage::reads::partner_view::{self, PartnerBalance, PartnerDue};

use crate::management::access::ListForPartner;
use crate::management::answers::{List, Listed, PageQuery, view};
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

view! { |row: PartnerBalance, due: Vec<DueView>| PartnerBalanceView {
    partner_program_id, program_id, program_name, program_status, currency, balance_cents, owed_cents,
    pending_cents, approved_cents, paid_cents, debt_cents;
    dues: due,
} }

view! { |row: PartnerDue| DueView {
    day;
    amount_cents: row.cents,
} }

/// List a partner's balances
#[utoipa::path(
    get,
    path = "/api/partner/balances",
    params(PageQuery),
    responses((status = 200, description = "A page of them.", body = Listed<PartnerBalanceView>))
)]
pub async fn list_partner_balances(
    State(app): State<App>,
    mut list: ListForPartner,
) -> List<PartnerBalanceView> {
    let (user_id, now) = (list.session.user.user_id, app.clock.now());
    let (rows, total) = partner_view::balances(&mut list.db, user_id, now, list.page.window()).await?;
    let memberships: Vec<i64> = rows.iter().map(|row| row.partner_program_id).collect();
    let mut dues: HashMap<(i64, String), Vec<DueView>> = HashMap::new();
    for due in partner_view::dues(&mut list.db, &memberships, now).await? {
        let balance = (due.partner_program_id, due.currency.clone());
        dues.entry(balance).or_default().push(due.into());
    }
    let view = |row: PartnerBalance| {
        let dues = dues.remove(&(row.partner_program_id, row.currency.clone()));
        PartnerBalanceView::new(row, dues.unwrap_or_default())
    };
    Ok(list.page.listed((rows.into_iter().map(view), total)))
}
