//! `GET /api/partner/programs`: a partner's programs and their terms.

use std::collections::BTreeSet;

use chrono::{DateTime, Utc};
use domain::earnings::commission::{Policy, policy_in_force};
use domain::money::BasisPoints;
use messages::instant::as_instant;
use storage::money::balances::{self, Balance};
use storage::program::programs;
use storage::reads::partner_view::{self, PartnerMembership};

use crate::management::access::ListForPartner;
use crate::management::answers::{List, Listed, PageQuery, view};
use crate::management::balance::CurrencyBalanceView;
use crate::management::prelude::*;

#[derive(Debug, Serialize, ToSchema)]
pub struct PartnerProgramView {
    partner_program_id: i64,
    program_id: i64,
    name: String,
    /// `draft`, `live` or `archived`: clicks and sales earn nothing any more in an archived program, and what is owed is still paid.
    program_status: String,
    /// The shop's website: a link is a page of it with `?aff=` and the code. Null where the advertiser has not named it.
    domain: Option<String>,
    /// `https:` address of the program's picture, on its advertiser's server.
    logo_url: Option<String>,
    /// The program's, as `#rrggbb`.
    color: Option<String>,
    /// Of the membership: `pending`, `approved` or `suspended`.
    status: String,
    /// For how many days a browser keeps the click.
    cookie_window_days: i16,
    /// How many more referral links they may make; 0 while they are not approved, and in an archived program.
    links_left: i64,
    /// In force now: the program's default first, then those of products that have their own.
    commission_terms: Vec<TermsView>,
    /// One a currency.
    balances: Vec<CurrencyBalanceView>,
    #[serde(rename = "createdAt", serialize_with = "as_instant")]
    created_at: DateTime<Utc>,
}

#[derive(Debug, Serialize, ToSchema)]
pub struct TermsView {
    /// Null: the program's default.
    product_id: Option<String>,
    /// `cps_recurring`, `cps_lifetime` or `cps_one_time`.
    commission_type: &'static str,
    /// Months of renewals; null for lifetime, 0 for one-time.
    default_duration_months: Option<i32>,
    /// Hundredths of a percent of the sale; null when the amount is fixed.
    rate_bps: Option<u32>,
    /// Null when it is a share of the sale.
    fixed_cents: Option<i64>,
    /// Of the fixed amount; a share is in the sale's.
    currency: Option<String>,
}

impl From<&Policy> for TermsView {
    fn from(policy: &Policy) -> Self {
        let fixed = policy.rate.fixed_amount();
        Self {
            product_id: policy.product_id.clone(),
            commission_type: policy.commission_type.as_str(),
            default_duration_months: policy.commission_type.default_duration_months(),
            rate_bps: policy.rate.basis_points().map(BasisPoints::get),
            fixed_cents: fixed.map(|(amount, _)| amount.get()),
            currency: fixed.map(|(_, currency)| currency.to_string()),
        }
    }
}

/// List a partner's programs
///
/// Every membership of theirs, newest first.
#[utoipa::path(
    get,
    path = "/api/partner/programs",
    params(PageQuery),
    responses((status = 200, description = "A page of them.", body = Listed<PartnerProgramView>))
)]
pub async fn list_partner_programs(
    State(app): State<App>,
    mut list: ListForPartner,
) -> List<PartnerProgramView> {
    let (user_id, window) = (list.session.user.user_id, list.page.window());
    let (rows, total) = partner_view::memberships(&mut list.db, user_id, window).await?;
    let memberships: Vec<i64> = rows.iter().map(|row| row.partner_program_id).collect();
    let mut balances = balances::of(&mut list.db, &memberships).await?;
    let ids: Vec<i64> = rows.iter().map(|row| row.program_id).collect();
    let programs = programs::find(&mut list.db, &ids).await?;
    let now = app.clock.now();
    let view = |row: PartnerMembership| {
        let balances = balances.remove(&row.partner_program_id.into());
        let terms = programs.get(&row.program_id.into());
        let terms = terms.map(|program| in_force(&program.terms.policies, now));
        PartnerProgramView::new(row, terms.unwrap_or_default(), balances.unwrap_or_default())
    };
    Ok(list.page.listed((rows.into_iter().map(view), total)))
}

view! { |row: PartnerMembership, terms: Vec<TermsView>, balances: Vec<Balance>| PartnerProgramView {
    partner_program_id, program_id, program_status, domain, logo_url, color, status, cookie_window_days,
    links_left, created_at;
    name: row.program_name,
    commission_terms: terms,
    balances: balances.into_iter().map(Into::into).collect(),
} }

fn in_force(policies: &[Policy], now: DateTime<Utc>) -> Vec<TermsView> {
    let products: BTreeSet<_> = policies
        .iter()
        .map(|policy| policy.product_id.as_deref())
        .collect();
    products
        .into_iter()
        .filter_map(|product| {
            // Skips a product whose policy in force is the default one, which is listed already.
            policy_in_force(policies, product, now).filter(|policy| policy.product_id.as_deref() == product)
        })
        .map(Into::into)
        .collect()
}
