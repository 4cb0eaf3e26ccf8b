//! `…/affiliate-programs/{program_id}/commissions`: the partners' commissions, and their early approval.

use chrono::{DateTime, Utc};
use domain::earnings::commission::CommissionStatus;
use domain::earnings::payout::CommissionState;
use domain::ids::{EventId, PartnerProgramId, PayoutId, ProgramId};
use domain::programs::outbound_event::OutboundEventType;
use domain::sorting::CommissionColumn;
use domain::text::Label;
use domain::tracking::signal::Signal;
use messages::instant::{as_instant, as_instant_if_any};
use messages::outbound_event::OutboundEvent;
use serde_json::{Value, json};
use sqlx::PgConnection;
use storage::money::commissions;
use storage::outbound::outbound_commissions;
use storage::reads::commission_lists::{self, Filter, ListedCommission, Wanted};

use super::expected_amounts::{ChosenCommissions, ExpectedAmounts};
use crate::http::field::refused;
use crate::http::query::Query;
use crate::management::access::right::{PayOut, Read};
use crate::management::access::{ListProgram, WriteProgram};
use crate::management::answers::{List, Listed, OrderQuery, PageQuery, view};
use crate::management::payout::refused_commissions;
use crate::management::prelude::*;

/// A commission as its program's advertiser sees it.
#[derive(Debug, Serialize, ToSchema)]
pub struct CommissionView {
    id: i64,
    /// Null, like all that is of the sale, when it was added by hand and makes up for no sale.
    sale_id: Option<i64>,
    /// The sale's, as the caller sent it.
    transaction_id: Option<String>,
    /// What the customer paid, in `sale_currency`.
    sale_amount_cents: Option<i64>,
    /// What of it percentages are taken of: without tax and shipping, where the sale said so.
    commissionable_cents: Option<i64>,
    sale_currency: Option<String>,
    /// What the advertiser says about one that was added by hand.
    note: Option<String>,
    partner_program_id: i64,
    partner: NamedPartner,
    amount_cents: i64,
    /// What of the amount was added by hand, or taken when negative.
    adjusted_cents: i64,
    /// What refunds have taken.
    deducted_cents: i64,
    /// What is left for the partner: amount less deductions.
    payable_cents: i64,
    currency: String,
    /// `pending`, `approved`, `paid`, `refunded` or `reversed`. One that is refunded in part stays so when it is paid.
    status: String,
    refund_reason: Option<String>,
    /// Why the advertiser rejected it; null when it was not rejected.
    rejection_reason: Option<String>,
    #[serde(serialize_with = "as_instant")]
    hold_until: DateTime<Utc>,
    #[serde(serialize_with = "as_instant_if_any")]
    approved_at: Option<DateTime<Utc>>,
    #[serde(serialize_with = "as_instant_if_any")]
    paid_at: Option<DateTime<Utc>>,
    payout_id: Option<i64>,
    /// What its partner received by the payout; null until it is paid.
    paid_cents: Option<i64>,
    /// What of it the payout held back for a debt; null until it is paid.
    shortfall_cents: Option<i64>,
    /// Signs of fraud, for a person to review; they change nothing of what is paid. `self_referral`: the
    /// customer has the partner's address. `fast_sale`: it followed the first click within seconds.
    /// `contested_key`: a browser had bound the customer's key to one click, and the backend or a payment named another.
    /// `many_leads`: the lead was one of many within an hour that browsers sent for one link, or from one address.
    /// `replaces_changed`: it replaces a commission that was rejected or adjusted by hand.
    /// `erased`: there was one before the customer's data was erased.
    signals: Vec<String>,
    #[serde(rename = "createdAt", serialize_with = "as_instant")]
    created_at: DateTime<Utc>,
}

#[derive(Debug, Serialize, ToSchema)]
pub struct NamedPartner {
    pub id: i64,
    /// Null when the partner's record was removed.
    pub name: Option<String>,
}

view! { |row: ListedCommission| CommissionView {
    id, sale_id, transaction_id, sale_amount_cents, commissionable_cents, sale_currency, partner_program_id,
    amount_cents, adjusted_cents, deducted_cents, currency, status, refund_reason, rejection_reason, note, hold_until,
    approved_at, paid_at, payout_id, paid_cents, shortfall_cents, signals, created_at;
    partner: NamedPartner { id: row.partner_id, name: row.partner_name, },
    payable_cents: row.amount_cents - row.deducted_cents,
} }

/// Which commissions, as it is described.
#[derive(Debug, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
#[expect(dead_code, reason = "described, never built: a filter is read leniently")]
pub struct CommissionQuery {
    /// One of `pending`, `approved`, `paid`, `refunded`, `reversed`.
    status: Option<String>,
    /// `true`: those that were paid, also the ones that are `refunded` or `reversed` by now; `false`: those that were not.
    paid: Option<bool>,
    /// Those that this payout paid.
    payout_id: Option<i64>,
    /// Those of one membership.
    partner_program_id: Option<i64>,
    /// Those of the sale with this `transaction_id`.
    #[param(max_length = 255)]
    transaction_id: Option<String>,
    /// Those with one of `self_referral`, `fast_sale`, `contested_key`, `many_leads`, `replaces_changed`, `erased`, or with `any` of them.
    signal: Option<String>,
}

pub const SIGNALS: &str =
    "must be one of self_referral, fast_sale, contested_key, many_leads, replaces_changed, erased, any";

/// The signals that a filter value stands for.
pub fn signals_named(text: &str) -> Option<&'static [Signal]> {
    let one = |signal| match signal {
        Signal::SelfReferral => &[Signal::SelfReferral],
        Signal::FastSale => &[Signal::FastSale],
        Signal::ContestedKey => &[Signal::ContestedKey],
        Signal::ManyLeads => &[Signal::ManyLeads],
        Signal::ReplacesChanged => &[Signal::ReplacesChanged],
        Signal::Erased => &[Signal::Erased],
    };
    match text {
        "any" => Some(&Signal::ALL),
        name => Signal::parse(name).map(|signal| one(signal).as_slice()),
    }
}

const NO_TRANSACTION: &str = "must be 1 to 255 visible characters";
const NO_COLUMN: &str = "must be one of partner, amount, hold_until";
pub const STATUSES: &str = "must be one of pending, approved, paid, refunded, reversed";

/// The filter of a query; `None` if no commission can match it.
pub async fn filter(
    connection: &mut PgConnection,
    program_id: ProgramId,
    query: &Query,
) -> Result<Option<Filter>, ApiError> {
    let transaction = query.parsed("transaction_id", NO_TRANSACTION, |text| {
        Label::parse(text.trim()).ok()
    })?;
    let wanted = Wanted {
        status: query.parsed("status", STATUSES, CommissionStatus::parse)?,
        paid: query.optional_flag("paid")?,
        payout_id: query.integer("payout_id")?.map(PayoutId::new),
        partner_program_id: query.integer("partner_program_id")?.map(PartnerProgramId::new),
        signals: query
            .parsed("signal", SIGNALS, signals_named)?
            .unwrap_or_default(),
        transaction: transaction.as_ref(),
    };
    Ok(Filter::resolve(connection, program_id, &wanted).await?)
}

/// List commissions
///
/// Newest first, unless sorted.
#[utoipa::path(
    get,
    path = "/api/advertiser/affiliate-programs/{program_id}/commissions",
    params(
        CommissionQuery,
        ("sort" = Option<String>, Query, description = "`partner`, `hold_until`, or `amount`, one currency after the other."),
        OrderQuery,
        PageQuery,
    ),
    responses((status = 200, description = "A page of them.", body = Listed<CommissionView>)),
    extensions(("x-refusals" = json!([
        refused("status", STATUSES), refused("signal", SIGNALS), refused("sort", NO_COLUMN)
    ]))),
)]
pub async fn list_commissions(mut list: ListProgram<Read>, query: Query) -> List<CommissionView> {
    let program_id = list.program_id;
    let Some(filter) = filter(&mut list.db, program_id, &query).await? else {
        return Ok(list.page.listed(([] as [CommissionView; 0], 0)));
    };
    let sorting = query.sorting(NO_COLUMN, CommissionColumn::parse)?;
    let found =
        commission_lists::page(&mut list.db, program_id, &filter, sorting, list.page.window()).await?;
    Ok(list.page.listed(found))
}

#[derive(Debug, Deserialize, ToSchema)]
pub struct ApproveRequest {
    #[schema(value_type = Vec<i64>, min_items = 1, max_items = 1000)]
    commission_ids: Option<Value>,
    /// What was seen to be payable of each, by id. If another amount is by now, none is approved.
    #[schema(value_type = Option<HashMap<String, i64>>)]
    expected_payable_cents: Option<Value>,
}

#[derive(Debug, Serialize, ToSchema)]
pub struct Approved {
    /// All that were asked for, ascending.
    approved: Vec<i64>,
}

/// Approve commissions
///
/// Pending ones and what refunds have left of them, before their hold period is over. All of them or none: those that cannot be approved are named in
/// `details.commissions`, each with its reason.
#[utoipa::path(
    post,
    path = "/api/advertiser/affiliate-programs/{program_id}/commissions/approve",
    request_body = ApproveRequest,
    responses(
        (status = 200, description = "Approved.", body = Data<Approved>),
        (status = 400, description = "Some cannot be approved; none was.", body = PlatformError),
    ),
    extensions(("x-refusals" = json!([
        refused_commissions(NOT_APPROVABLE, &[(13, "paid commissions cannot be approved".to_owned())].into()),
        ExpectedAmounts::refusal()
    ]))),
)]
pub async fn approve_commissions(mut write: WriteProgram<PayOut>) -> Answer<Approved> {
    let program_id = write.on.ids;
    let request: ApproveRequest = write.body().json()?;
    let chosen = ChosenCommissions::read(request.commission_ids, request.expected_payable_cents)?;
    let check = |state: &CommissionState| state.approve_early().map(drop);
    chosen
        .lock_checked(&mut write.db, program_id, NOT_APPROVABLE, check)
        .await?;
    let ids = chosen.ids;
    let now = write.app.clock.now();
    commissions::approve(&mut write.db, &ids, now).await?;
    let details = json!({ "commission_ids": ids });
    write.audit("commission.approved", None::<i64>, details);
    if write.wants(OutboundEventType::CommissionApproved) {
        let new_event_id = || EventId::new(write.app.clock.mint());
        let event = OutboundEvent::CommissionApproved;
        outbound_commissions::add_events(&mut write.db, &ids, now, new_event_id, event).await?;
    }
    write.answer(data(Approved { approved: ids })).await
}

const NOT_APPROVABLE: &str = "Some commissions cannot be approved; none was";
