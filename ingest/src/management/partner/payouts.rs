//! `GET /api/partner/payouts`: a partner's payouts.

use chrono::{DateTime, Utc};
use domain::ids::{PayoutId, ProgramId};
use domain::money::Currency;
use domain::sorting::PayoutColumn;
use messages::instant::as_instant;
use storage::reads::partner_payouts::{self, ReceivedCommission};
use storage::reads::payout_lists::{Filter, PayoutPart};

use crate::http::field::refused;
use crate::http::query::Query;
use crate::management::access::{ListForPartner, PartnerUser};
use crate::management::advertiser::money::payouts::{NO_COLUMN, NO_CURRENCY, UNKNOWN, not_a_currency};
use crate::management::answers::{Ids, List, Listed, OrderQuery, PageQuery, view};
use crate::management::prelude::*;

/// The partner's own part of a payout. Cents of `currency`.
#[derive(Debug, Serialize, ToSchema)]
pub struct PartnerPayoutView {
    id: i64,
    program_id: i64,
    program_name: String,
    currency: String,
    commission_count: i64,
    /// What was left of the commissions.
    requested_cents: i64,
    /// What of it was held back for a debt: a commission that had been paid, and was taken back afterwards.
    shortfall_cents: i64,
    /// Received.
    amount_cents: i64,
    #[serde(rename = "createdAt", serialize_with = "as_instant")]
    created_at: DateTime<Utc>,
}

/// A payout with the commissions it paid, oldest first: 5,000 at most.
#[derive(Debug, Serialize, ToSchema)]
pub struct PartnerPayoutDetail {
    #[serde(flatten)]
    payout: PartnerPayoutView,
    commissions: Vec<ReceivedCommissionView>,
}

#[derive(Debug, Serialize, ToSchema)]
#[schema(as = ReceivedCommission)]
pub struct ReceivedCommissionView {
    id: i64,
    /// What was left of it.
    requested_cents: i64,
    /// What of it was held back.
    shortfall_cents: i64,
    /// Received.
    amount_cents: i64,
    /// What the advertiser says about one that was added by hand.
    note: Option<String>,
    #[serde(rename = "createdAt", serialize_with = "as_instant")]
    created_at: DateTime<Utc>,
}

view! { |row: PayoutPart| PartnerPayoutView {
    program_id, program_name, currency, commission_count, requested_cents, shortfall_cents, amount_cents,
    created_at;
    id: row.id,
} }

view! { |row: ReceivedCommission| ReceivedCommissionView {
    id, requested_cents, shortfall_cents, amount_cents, note, created_at,
} }

/// List a partner's payouts
///
/// Newest first unless sorted, of all their programs or of one.
#[utoipa::path(
    get,
    path = "/api/partner/payouts",
    params(
        ("program_id" = Option<i64>, Query, description = "Only those of this program."),
        ("currency" = Option<String>, Query, description = "Only those in this currency."),
        ("sort" = Option<String>, Query, description = "`date`, or `amount`, what was received, one currency after the other."),
        OrderQuery,
        PageQuery,
    ),
    responses((status = 200, description = "A page of them.", body = Listed<PartnerPayoutView>)),
    extensions(("x-refusals" = json!([not_a_currency(), refused("sort", NO_COLUMN)]))),
)]
pub async fn list_partner_payouts(mut list: ListForPartner, query: Query) -> List<PartnerPayoutView> {
    let program_id = query.integer("program_id")?.map(ProgramId::new);
    let filter = Filter {
        currency: query.parsed("currency", NO_CURRENCY, Currency::parse)?,
        // The reference is between the advertiser and their bank, so a partner cannot search it.
        text: None,
    };
    let sorting = query.sorting(NO_COLUMN, PayoutColumn::parse)?;
    let (user_id, window) = (list.session.user.user_id, list.page.window());
    let found =
        partner_payouts::received(&mut list.db, user_id, program_id, &filter, sorting, window).await?;
    Ok(list.page.listed(found))
}

/// Read a partner's payout
///
/// Their own part of it, with its commissions.
#[utoipa::path(
    get,
    path = "/api/partner/payouts/{payout_id}",
    responses((status = 200, description = "The payout.", body = Data<PartnerPayoutDetail>)),
    extensions(("x-refusals" = json!([UNKNOWN]))),
)]
pub async fn read_partner_payout(
    State(app): State<App>,
    partner: PartnerUser,
    Ids(payout_id): Ids<PayoutId>,
) -> Answer<PartnerPayoutDetail> {
    let mut connection = app.management.acquire().await?;
    let user_id = partner.user.user_id;
    let payout = partner_payouts::find_received(&mut connection, user_id, payout_id).await?;
    let payout = payout.ok_or(UNKNOWN)?;
    let commissions = partner_payouts::received_commissions(&mut connection, user_id, payout_id).await?;
    Ok(data(PartnerPayoutDetail {
        payout: payout.into(),
        commissions: commissions.into_iter().map(Into::into).collect(),
    }))
}
