//! `…/affiliate-programs/{program_id}/payouts`: marks commissions as paid, one batch at a time.

use axum::http::HeaderMap;
use chrono::{DateTime, Utc};
use domain::ids::{EventId, PartnerProgramId, PayoutId, ProgramId};
use domain::money::{Cents, Currency};
use domain::sorting::PayoutColumn;
use domain::text::Text;
use messages::instant::as_instant;
use serde_json::{Value, json};
use sqlx::PgConnection;
use storage::money::payouts::{self, PartnerShare, StoredPayout};
use storage::reads::partner_payouts::{self, SharedPayout};
use storage::reads::payout_lists::{self, Filter};

use super::commissions::NamedPartner;
use crate::http::body;
use crate::http::field::{Field, refused};
use crate::http::query::{NO_TEXT, Query};
use crate::management::access::right::{PayOut, Read};
use crate::management::access::{ListProgram, ReadProgram, WriteProgram};
use crate::management::answers::{Created, List, Listed, OrderQuery, PageQuery, created, view};
use crate::management::id_list::id_list;
use crate::management::idempotency::{ANOTHER_REQUEST, IdempotencyKey};
use crate::management::payout::{self, ANOTHER_AMOUNT, NOTHING_TO_PAY, PayoutOrder, Wanted};
use crate::management::prelude::*;

/// Either `commission_ids` or `all_approved`.
#[derive(Debug, Deserialize, ToSchema)]
pub struct NewPayoutRequest {
    /// Paid together or not at all.
    #[schema(value_type = Option<Vec<i64>>, min_items = 1, max_items = 1000)]
    commission_ids: Option<Value>,
    /// Everything that can be paid to partners who are not suspended, the oldest 5,000 at most.
    #[schema(value_type = Option<bool>)]
    all_approved: Field<bool>,
    /// Needed with `all_approved` when there is something to pay in several.
    #[schema(value_type = Option<String>)]
    currency: Field<String>,
    /// What the caller was shown and means to pay. If the payout would move another amount, nothing is paid.
    #[schema(value_type = Option<i64>)]
    expected_amount_cents: Field<i64>,
    /// The advertiser's own words, such as a bank's reference. Blank ones are none.
    #[schema(value_type = Option<String>, max_length = 200)]
    reference: Field<String>,
}

#[derive(Debug, Serialize, ToSchema)]
pub struct PayoutView {
    id: i64,
    currency: String,
    /// What partners are to receive: what was left of the commissions, less debts.
    amount_cents: i64,
    commission_count: i32,
    reference: Option<String>,
    #[serde(rename = "createdAt", serialize_with = "as_instant")]
    created_at: DateTime<Utc>,
}

/// A payout in a list.
#[derive(Debug, Serialize, ToSchema)]
pub struct ListedPayout {
    #[serde(flatten)]
    payout: PayoutView,
    /// The part of the partner who is asked for; null without `partner_program_id`.
    partner_share: Option<PartnerShareView>,
}

/// A payout with each partner's part of it.
#[derive(Debug, Serialize, ToSchema)]
pub struct PayoutDetail {
    #[serde(flatten)]
    payout: PayoutView,
    partners: Vec<PartnerShareView>,
}

#[derive(Debug, Serialize, ToSchema)]
pub struct PartnerShareView {
    pub partner_program_id: i64,
    pub partner: NamedPartner,
    pub commission_count: i64,
    /// What was left of the commissions.
    pub requested_cents: i64,
    /// What of it settled a debt: a commission that was paid, and reversed afterwards.
    pub shortfall_cents: i64,
    /// What the partner is to receive.
    pub amount_cents: i64,
}

view! { |row: StoredPayout| PayoutView {
    id, currency, amount_cents, commission_count, reference, created_at,
} }

view! { |row: PartnerShare| PartnerShareView {
    partner_program_id, commission_count, requested_cents, shortfall_cents, amount_cents;
    partner: NamedPartner { id: row.partner_id, name: row.partner_name, },
} }

impl From<StoredPayout> for ListedPayout {
    fn from(payout: StoredPayout) -> Self {
        Self {
            payout: payout.into(),
            partner_share: None,
        }
    }
}

impl From<SharedPayout> for ListedPayout {
    fn from(shared: SharedPayout) -> Self {
        Self {
            payout: shared.payout.into(),
            partner_share: Some(shared.share.into()),
        }
    }
}

pub const NO_CURRENCY: &str = "must be a currency code of three letters";
pub const NO_COLUMN: &str = "must be date or amount";

/// List payouts
///
/// Newest first unless sorted; all of them, or those that paid one partner, with their part.
#[utoipa::path(
    get,
    path = "/api/advertiser/affiliate-programs/{program_id}/payouts",
    params(
        ("partner_program_id" = Option<i64>, Query, description = "Only those that paid this membership."),
        ("currency" = Option<String>, Query, description = "Only those in this currency."),
        ("search" = Option<String>, Query, description = "Only those with this in their reference, whatever its case."),
        (
            "sort" = Option<String>, Query,
            description = "`date`, or `amount`, one currency after the other: with `partner_program_id` what the partner received.",
        ),
        OrderQuery,
        PageQuery,
    ),
    responses((status = 200, description = "A page of them.", body = Listed<ListedPayout>)),
    extensions(("x-refusals" = json!([refused("sort", NO_COLUMN), refused("search", NO_TEXT)]))),
)]
pub async fn list_payouts(mut list: ListProgram<Read>, query: Query) -> List<ListedPayout> {
    let (program_id, window) = (list.program_id, list.page.window());
    let filter = Filter {
        currency: query.parsed("currency", NO_CURRENCY, Currency::parse)?,
        text: query.search()?,
    };
    let sorting = query.sorting(NO_COLUMN, PayoutColumn::parse)?;
    if let Some(id) = query.integer("partner_program_id")? {
        let membership = PartnerProgramId::new(id);
        let found =
            partner_payouts::of_membership(&mut list.db, program_id, membership, &filter, sorting, window);
        return Ok(list.page.listed(found.await?));
    }
    let found = payout_lists::page(&mut list.db, program_id, &filter, sorting, window).await?;
    Ok(list.page.listed(found))
}

/// Pay commissions
///
/// Marks approved commissions as paid, and what refunds have left of others; one payout is in one currency. A partner who
/// owes something is paid less. A suspended partner is paid only what `commission_ids` names. With an `Idempotency-Key`, the
/// same call again answers with the payout it made, and another call is refused.
#[utoipa::path(
    post,
    path = "/api/advertiser/affiliate-programs/{program_id}/payouts",
    params(
        ("Idempotency-Key" = Option<String>, Header, description = "Of the caller's choice, at most 200 characters."),
    ),
    request_body = NewPayoutRequest,
    responses(
        (status = 201, description = "Paid, by this call or an earlier one of the same key.", body = Data<PayoutDetail>),
        (
            status = 400,
            description = "Nothing was paid; `details.commissions` names those of a list that cannot be.",
            body = PlatformError,
        ),
        (status = 409, description = "The amount is not the one expected, or the `Idempotency-Key` was used for another request.",
         body = PlatformError),
    ),
    extensions(("x-refusals" = json!([NOTHING_TO_PAY, ANOTHER_AMOUNT, ANOTHER_REQUEST, not_a_currency()]))),
)]
pub async fn create_payout(headers: HeaderMap, mut write: WriteProgram<PayOut>) -> Created<PayoutDetail> {
    let program_id = write.on.ids;
    write.just_proved()?;
    let bytes = write.body().bytes()?;
    let order = order(&write.app, program_id, &headers, body::parse(&bytes)?)?;
    if let Some(key) = &order.idempotency_key {
        let name = key.key.as_str();
        payouts::lock_key(&mut write.db, program_id, name).await?;
        if let Some(made) = payouts::find_by_key(&mut write.db, program_id, name).await? {
            key.check(made.request_hash.as_deref())?;
            return Ok(created(detail(&mut write.db, program_id, made.payout_id).await?));
        }
    }
    let payout_id = payout::pay(&mut write.db, &order, &write.app.clock).await?;
    let paid = detail(&mut write.db, program_id, payout_id).await?;
    let details = json!({
        "amount_cents": paid.payout.amount_cents, "currency": paid.payout.currency,
        "commission_count": paid.payout.commission_count, "reference": paid.payout.reference,
    });
    write.audit("payout.created", payout_id.get(), details);
    write.answer(created(paid)).await
}

fn order(
    app: &App,
    program_id: ProgramId,
    headers: &HeaderMap,
    request: NewPayoutRequest,
) -> Result<PayoutOrder, ApiError> {
    let ids = id_list(request.commission_ids, "commission_ids")?;
    let wanted = match (ids, request.all_approved.flag("all_approved")?) {
        (Some(ids), false) => Wanted::Commissions(ids),
        (None, true) => Wanted::AllApproved,
        _ => {
            return Err(ApiError::bad_request(
                "commission_ids or all_approved is required, not both",
            ));
        }
    };
    let currency = request.currency.optional(not_a_currency)?;
    let currency = currency
        .map(|code| Currency::parse(&code).ok_or_else(not_a_currency))
        .transpose()?;
    let is_written = |text: &Text<200>| !text.as_str().trim().is_empty();
    let reference = request.reference.text("reference")?.filter(is_written);
    let expected = request.expected_amount_cents.integer("expected_amount_cents")?;
    let key = IdempotencyKey::read(headers, &asked(&wanted, currency, reference.as_ref(), expected))?;
    Ok(PayoutOrder {
        program_id,
        wanted,
        currency,
        reference,
        expected: expected.map(Cents::new),
        idempotency_key: key,
        event_id: EventId::new(app.clock.mint()),
        now: app.clock.now(),
    })
}

fn asked(
    wanted: &Wanted,
    currency: Option<Currency>,
    reference: Option<&Text<200>>,
    expected: Option<i64>,
) -> Value {
    let ids = match wanted {
        Wanted::Commissions(ids) => Some(ids),
        Wanted::AllApproved => None,
    };
    let mut asked = vec![
        json!(ids),
        json!(currency.map(|code| code.to_string())),
        json!(reference.map(Text::as_str)),
    ];
    // Without an expected amount the hash equals the one that earlier versions stored.
    asked.extend(expected.map(Value::from));
    Value::Array(asked)
}

pub fn not_a_currency() -> ApiError {
    refused("currency", NO_CURRENCY)
}

/// Read a payout
#[utoipa::path(
    get,
    path = "/api/advertiser/affiliate-programs/{program_id}/payouts/{payout_id}",
    responses((status = 200, description = "With each partner's part.", body = Data<PayoutDetail>)),
    extensions(("x-refusals" = json!([UNKNOWN]))),
)]
pub async fn read_payout(mut read: ReadProgram<Read, (ProgramId, PayoutId)>) -> Answer<PayoutDetail> {
    let (program_id, payout_id) = read.ids;
    Ok(data(detail(&mut read.db, program_id, payout_id).await?))
}

async fn detail(
    connection: &mut PgConnection,
    program_id: ProgramId,
    payout_id: PayoutId,
) -> Result<PayoutDetail, ApiError> {
    let payout = payouts::find(connection, program_id, payout_id).await?;
    let payout = payout.ok_or(UNKNOWN)?;
    let shares = payouts::shares(connection, payout_id).await?;
    Ok(PayoutDetail {
        payout: payout.into(),
        partners: shares.into_iter().map(Into::into).collect(),
    })
}

pub const UNKNOWN: ApiError = ApiError::NotFound("Payout not found");
