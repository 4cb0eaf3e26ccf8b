//! `…/affiliate-programs/{program_id}/commissions/review` and `…/hold`: decides on flagged commissions, and
//! postpones their approval.

use chrono::{DateTime, TimeDelta, Utc};
use domain::earnings::payout::CommissionState;
use domain::ids::PartnerProgramId;
use domain::sorting::FlaggedColumn;
use domain::text::Text;
use messages::instant::as_instant;
use serde_json::{Value, json};
use storage::money::commissions;
use storage::reads::review_queue::{self, Filter, FlaggedCommission};

use super::commissions::{NamedPartner, SIGNALS, signals_named};
use super::expected_amounts::{ChosenCommissions, ExpectedAmounts};
use crate::http::field::{Field, refused};
use crate::http::query::Query;
use crate::management::access::right::PayOut;
use crate::management::access::{ListProgram, WriteProgram};
use crate::management::answers::{List, Listed, OrderQuery, PageQuery, view};
use crate::management::payout::refused_commissions;
use crate::management::prelude::*;

/// The longest hold of one request.
const MOST_DAYS: i64 = 365;

/// A commission with signs of fraud that nobody has decided on.
#[derive(Debug, Serialize, ToSchema)]
pub struct FlaggedView {
    id: i64,
    sale_id: Option<i64>,
    transaction_id: Option<String>,
    /// What the customer paid, in `sale_currency`.
    sale_amount_cents: Option<i64>,
    sale_currency: Option<String>,
    /// Null when it was added by hand.
    customer: Option<NamedCustomer>,
    partner_program_id: i64,
    partner: NamedPartner,
    amount_cents: i64,
    /// What is left for the partner: amount less deductions. `expected_payable_cents` of a decision.
    payable_cents: i64,
    currency: String,
    /// `pending`, or `refunded` when a part of it was.
    status: String,
    /// Whether it is approved at `hold_until` unless somebody decides before. Otherwise the program has it approved by hand only.
    approves_itself: bool,
    #[serde(serialize_with = "as_instant")]
    hold_until: DateTime<Utc>,
    #[serde(rename = "createdAt", serialize_with = "as_instant")]
    created_at: DateTime<Utc>,
    /// Why it is flagged, as in the list of commissions.
    signals: Vec<String>,
}

#[derive(Debug, Serialize, ToSchema)]
pub struct NamedCustomer {
    id: i64,
    /// Null when none is known, or the customer's data was erased.
    customer_key: Option<String>,
}

view! { |row: FlaggedCommission| FlaggedView {
    id, sale_id, transaction_id, sale_amount_cents, sale_currency, partner_program_id, amount_cents, currency, status,
    approves_itself, hold_until, created_at, signals;
    customer: row.customer_id.map(|id| NamedCustomer { id, customer_key: row.customer_key }),
    partner: NamedPartner { id: row.partner_id, name: row.partner_name, },
    payable_cents: row.amount_cents - row.deducted_cents,
} }

/// List flagged commissions
///
/// Those with a signal that are neither approved nor paid, and wait to be, oldest first unless sorted.
#[utoipa::path(
    get,
    path = "/api/advertiser/affiliate-programs/{program_id}/commissions/review",
    params(
        ("partner_program_id" = Option<i64>, Query, description = "Those of one membership."),
        ("signal" = Option<String>, Query, description = "Those with this signal, as in the list of commissions."),
        ("sort" = Option<String>, Query, description = "`hold_until`, or `payable`, one currency after the other."),
        OrderQuery,
        PageQuery,
    ),
    responses((status = 200, description = "A page of them.", body = Listed<FlaggedView>)),
    extensions(("x-refusals" = json!([refused("signal", SIGNALS), refused("sort", NO_COLUMN)]))),
)]
pub async fn list_flagged_commissions(
    State(app): State<App>,
    mut list: ListProgram<PayOut>,
    query: Query,
) -> List<FlaggedView> {
    let filter = Filter {
        membership: query.integer("partner_program_id")?.map(PartnerProgramId::new),
        signals: query
            .parsed("signal", SIGNALS, signals_named)?
            .unwrap_or_default(),
    };
    let sorting = query.sorting(NO_COLUMN, FlaggedColumn::parse)?;
    let (now, window) = (app.clock.now(), list.page.window());
    let found = review_queue::page(&mut list.db, list.program_id, filter, sorting, now, window).await?;
    Ok(list.page.listed(found))
}

#[derive(Debug, Deserialize, ToSchema)]
pub struct HoldRequest {
    #[schema(value_type = Vec<i64>, min_items = 1, max_items = 1000)]
    commission_ids: Option<Value>,
    /// From now; a hold period that ends later stays.
    #[schema(value_type = i64, minimum = 1, maximum = 365)]
    #[serde(default)]
    days: Field<i64>,
    /// What was seen to be payable of each, by id. If another amount is by now, none is held.
    #[schema(value_type = Option<HashMap<String, i64>>)]
    expected_payable_cents: Option<Value>,
    /// For the audit log; partners do not read it.
    #[schema(value_type = Option<String>, max_length = 1000)]
    reason: Field<String>,
}

#[derive(Debug, Serialize, ToSchema)]
pub struct Held {
    /// All that were asked for, ascending.
    held: Vec<i64>,
    /// None of them approves itself before.
    #[serde(serialize_with = "as_instant")]
    hold_until: DateTime<Utc>,
}

/// Hold commissions
///
/// For some days more, so that they are not approved meanwhile by themselves. All of them or none: those that cannot be held are named in
/// `details.commissions`, each with its reason.
#[utoipa::path(
    post,
    path = "/api/advertiser/affiliate-programs/{program_id}/commissions/hold",
    request_body = HoldRequest,
    responses(
        (status = 200, description = "Held.", body = Data<Held>),
        (status = 400, description = "Some cannot be held; none was.", body = PlatformError),
    ),
    extensions(("x-refusals" = json!([
        refused_commissions(NOT_HOLDABLE, &[(13, "paid commissions cannot be held".to_owned())].into()),
        ExpectedAmounts::refusal()
    ]))),
)]
pub async fn hold_commissions(mut write: WriteProgram<PayOut>) -> Answer<Held> {
    let program_id = write.on.ids;
    let request: HoldRequest = write.body().json()?;
    let chosen = ChosenCommissions::read(request.commission_ids, request.expected_payable_cents)?;
    let days = request.days.within("days", 1..=MOST_DAYS, |days: i64| {
        TimeDelta::try_days(days).filter(|_| (1..=MOST_DAYS).contains(&days))
    })?;
    let days = days.ok_or_else(|| ApiError::bad_request("days is required"))?;
    let reason: Option<Text<1000>> = request.reason.text("reason")?;
    chosen
        .lock_checked(&mut write.db, program_id, NOT_HOLDABLE, CommissionState::hold)
        .await?;
    let ids = chosen.ids;
    let hold_until = write.app.clock.now() + days;
    commissions::hold(&mut write.db, &ids, hold_until).await?;
    let reason = reason.as_ref().map(Text::as_str);
    let details = json!({ "commission_ids": ids, "days": days.num_days(), "reason": reason });
    write.audit("commission.held", None::<i64>, details);
    write.commit().await?;
    Ok(data(Held {
        held: ids,
        hold_until,
    }))
}

const NO_COLUMN: &str = "must be payable or hold_until";
const NOT_HOLDABLE: &str = "Some commissions cannot be held; none was";
