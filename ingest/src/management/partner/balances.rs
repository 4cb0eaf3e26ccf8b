//! `GET /api/partner/balances`: what a partner is owed and has received, by program and currency.

use storage::partner_view::{self, PartnerBalance};

use crate::management::prelude::*;

#[derive(Debug, Serialize, ToSchema)]
pub struct PartnerBalanceView {
    partner_program_id: i64,
    program_id: i64,
    program_name: String,
    currency: String,
    /// What is owed to the partner, less what they owe: below pending and approved together when a commission was reversed
    /// after it had been paid.
    balance_cents: i64,
    /// Earned, in its hold period.
    pending_cents: i64,
    /// Earned, to be paid.
    approved_cents: i64,
    /// Received.
    paid_cents: i64,
    /// What payouts will hold back: it was taken from commissions after they had been paid.
    debt_cents: i64,
}

view! { |row: PartnerBalance| PartnerBalanceView {
    partner_program_id, program_id, program_name, currency, balance_cents, pending_cents, approved_cents, paid_cents,
    debt_cents,
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
    let user_id = partner.user.user_id;
    let (rows, total) =
        partner_view::balances(&mut connection, user_id, app.clock.now(), page.window()).await?;
    Ok(page.listed(rows, total))
}

pub fn examples() -> Examples {
    let balance = PartnerBalanceView {
        partner_program_id: 5,
        program_id: 1,
        program_name: "Shop affiliates".to_owned(),
        currency: "USD".to_owned(),
        balance_cents: 2_480,
        pending_cents: 1_500,
        approved_cents: 980,
        paid_cents: 4_000,
        debt_cents: 0,
    };
    Examples::default().page(balance)
}
