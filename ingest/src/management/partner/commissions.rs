//! `GET /api/partner/commissions`: a partner's commissions, without the customers: those are the advertiser's
//! data.

use chrono::{DateTime, Utc};
use domain::earnings::commission::CommissionStatus;
use domain::ids::{CommissionId, ProgramId};
use domain::sorting::CommissionColumn;
use messages::instant::{as_instant, as_instant_if_any};
use storage::reads::partner_lists::{self, CommissionFilter};
use storage::reads::partner_view::PartnerCommission;

use crate::http::field::refused;
use crate::http::query::Query;
use crate::management::access::ListForPartner;
use crate::management::answers::{List, Listed, OrderQuery, PageQuery, view};
use crate::management::prelude::*;

const STATUSES: &str = "must be one of pending, approved, paid, refunded, reversed";
const NO_COLUMN: &str = "must be amount or hold_until";

#[derive(Debug, Serialize, ToSchema)]
pub struct PartnerCommissionView {
    id: i64,
    program_id: i64,
    program_name: String,
    amount_cents: i64,
    /// What of the amount the advertiser added by hand, or took when negative.
    adjusted_cents: i64,
    /// What refunds have taken.
    deducted_cents: i64,
    /// What is left: amount less deductions.
    payable_cents: i64,
    currency: String,
    /// `pending`, `approved`, `paid`, `refunded` or `reversed`. One that is refunded in part stays so when it is paid.
    status: String,
    /// What the advertiser says about one that was added by hand; null for what a sale earned.
    note: Option<String>,
    #[serde(serialize_with = "as_instant")]
    hold_until: DateTime<Utc>,
    #[serde(serialize_with = "as_instant_if_any")]
    approved_at: Option<DateTime<Utc>>,
    #[serde(serialize_with = "as_instant_if_any")]
    paid_at: Option<DateTime<Utc>>,
    payout_id: Option<i64>,
    #[serde(rename = "createdAt", serialize_with = "as_instant")]
    created_at: DateTime<Utc>,
}

view! { |row: PartnerCommission| PartnerCommissionView {
    id, program_id, program_name, amount_cents, adjusted_cents, deducted_cents, currency, status, note, hold_until,
    approved_at, paid_at, payout_id, created_at;
    payable_cents: row.amount_cents - row.deducted_cents,
} }

/// List a partner's commissions
///
/// Newest first unless sorted, of all their programs or of one.
#[utoipa::path(
    get,
    path = "/api/partner/commissions",
    params(
        ("program_id" = Option<i64>, Query, description = "Only those of this program."),
        ("status" = Option<String>, Query, description = "Only those: `pending`, `approved`, `paid`, `refunded` or `reversed`."),
        (
            "paid" = Option<bool>, Query,
            description = "`true`: those that were paid, also the ones that are `refunded` or `reversed` by now; `false`: those that were not.",
        ),
        ("commission_id" = Option<i64>, Query, description = "Only this one, of which a notification speaks."),
        ("sort" = Option<String>, Query, description = "`hold_until`, or `amount`, one currency after the other."),
        OrderQuery,
        PageQuery,
    ),
    responses((status = 200, description = "A page of them.", body = Listed<PartnerCommissionView>)),
    extensions(("x-refusals" = json!([refused("status", STATUSES), refused("sort", NO_COLUMN)]))),
)]
pub async fn list_partner_commissions(mut list: ListForPartner, query: Query) -> List<PartnerCommissionView> {
    let filter = CommissionFilter {
        program_id: query.integer("program_id")?.map(ProgramId::new),
        status: query.parsed("status", STATUSES, CommissionStatus::parse)?,
        paid: query.optional_flag("paid")?,
        commission_id: query.integer("commission_id")?.map(CommissionId::new),
    };
    let sorting = query.sorting(NO_COLUMN, |text| {
        CommissionColumn::parse(text).filter(|column| *column != CommissionColumn::Partner)
    })?;
    let (user_id, window) = (list.session.user.user_id, list.page.window());
    let found = partner_lists::commissions(&mut list.db, user_id, filter, sorting, window).await?;
    Ok(list.page.listed(found))
}
