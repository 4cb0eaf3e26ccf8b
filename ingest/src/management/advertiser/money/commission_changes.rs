//! `…/affiliate-programs/{program_id}/commissions`: rejects commissions, and adjusts one by an amount.

use axum::http::HeaderMap;
use domain::earnings::adjustment::{Adjusted, Change};
use domain::ids::{CommissionId, EventId, ProgramId};
use domain::money::{AmountCents, Cents};
use domain::text::RefundReason;
use serde_json::{Value, json};
use sqlx::PgConnection;
use storage::money::adjustments::{self, NewAdjustment};
use storage::money::by_hand;
use storage::money::payouts::{self, LockedCommission};

use super::expected_amounts::{ChosenCommissions, ExpectedAmounts};
use crate::http::field::{Field, refused};
use crate::management::access::WriteProgram;
use crate::management::access::right::PayOut;
use crate::management::idempotency::{ANOTHER_REQUEST, IdempotencyKey};
use crate::management::payout::refused_commissions;
use crate::management::prelude::*;

#[derive(Debug, Deserialize, ToSchema)]
pub struct RejectRequest {
    #[schema(value_type = Vec<i64>, min_items = 1, max_items = 1000)]
    commission_ids: Option<Value>,
    /// What was seen to be payable of each, by id. If another amount is by now, none is rejected.
    #[schema(value_type = Option<HashMap<String, i64>>)]
    expected_payable_cents: Option<Value>,
    /// The partners read it.
    #[schema(value_type = String, max_length = 1000)]
    #[serde(default)]
    reason: Field<String>,
}

#[derive(Debug, Deserialize, ToSchema)]
pub struct AdjustRequest {
    /// What is added to the commission; taken from it when negative.
    #[schema(value_type = i64)]
    #[serde(default)]
    amount_cents: Field<i64>,
    /// The partner reads it.
    #[schema(value_type = String, max_length = 1000)]
    #[serde(default)]
    reason: Field<String>,
}

/// A commission as a change by hand left it.
#[derive(Debug, Serialize, ToSchema)]
pub struct ChangedCommission {
    id: i64,
    /// What was earned, changes by hand included.
    amount_cents: i64,
    /// What is left for the partner: amount less deductions.
    payable_cents: i64,
    currency: String,
    status: &'static str,
}

impl From<&LockedCommission> for ChangedCommission {
    fn from(commission: &LockedCommission) -> Self {
        Self {
            id: commission.commission_id.get(),
            amount_cents: commission.state.amount.get(),
            payable_cents: commission.state.left().get(),
            currency: commission.currency.to_string(),
            status: commission.state.status.as_str(),
        }
    }
}

impl From<&(LockedCommission, Adjusted)> for ChangedCommission {
    fn from((commission, adjusted): &(LockedCommission, Adjusted)) -> Self {
        let before = Self::from(commission);
        Self {
            amount_cents: before.amount_cents.saturating_add(adjusted.by.get()),
            payable_cents: before.payable_cents.saturating_add(adjusted.by.get()),
            status: adjusted.status.as_str(),
            ..before
        }
    }
}

/// Reject commissions
///
/// Nothing is left of them, and their partners are notified of the reason. What was paid already is owed back and held back from later
/// payouts. All of them or none: those that cannot be rejected are named in `details.commissions`, each with its reason.
#[utoipa::path(
    post,
    path = "/api/advertiser/affiliate-programs/{program_id}/commissions/reject",
    request_body = RejectRequest,
    responses(
        (status = 200, description = "Rejected.", body = Data<Vec<ChangedCommission>>),
        (status = 400, description = "Some cannot be rejected; none was.", body = PlatformError),
    ),
    extensions(("x-refusals" = json!([
        refused_commissions(NOT_CHANGEABLE, &[(13, "reversed".to_owned())].into()),
        ExpectedAmounts::refusal()
    ]))),
)]
pub async fn reject_commissions(mut write: WriteProgram<PayOut>) -> Answer<Vec<ChangedCommission>> {
    let program_id = write.on.ids;
    write.just_proved()?;
    let request: RejectRequest = write.body().json()?;
    let chosen = ChosenCommissions::read(request.commission_ids, request.expected_payable_cents)?;
    let reason = reason(request.reason)?;
    let new = order(&write.app, program_id, Change::Reject, &reason);
    chosen.lock(&mut write.db, program_id, NOT_CHANGEABLE).await?;
    let ids = chosen.ids;
    let changed =
        changed(by_hand::change(&mut write.db, &ids, &new, || EventId::new(write.app.clock.mint())).await?)?;
    let details = json!({ "commission_ids": ids });
    write.audit("commission.rejected", None::<i64>, details);
    write.answer(data(changed.iter().map(Into::into).collect())).await
}

/// Adjust a commission
///
/// By an amount, up or down; a bonus is an amount added to the commission it is for. Nothing can be added to a commission that
/// is paid; what is taken from one is owed back, and held back from later payouts. With an `Idempotency-Key`, the same call again
/// answers with the commission as it is by then, and another call is refused.
#[utoipa::path(
    post,
    path = "/api/advertiser/affiliate-programs/{program_id}/commissions/{commission_id}/adjust",
    params(
        ("Idempotency-Key" = Option<String>, Header, description = "Of the caller's choice, at most 200 characters."),
    ),
    request_body = AdjustRequest,
    responses(
        (status = 200, description = "Adjusted, by this call or an earlier one of the same key.", body = Data<ChangedCommission>),
        (status = 400, description = "It cannot be changed by that; nothing was.", body = PlatformError),
        (status = 409, description = "The `Idempotency-Key` was used for another request.", body = PlatformError),
    ),
    extensions(("x-refusals" = json!([
        refused_commissions(NOT_CHANGEABLE, &[(12, "already paid".to_owned())].into()), ANOTHER_REQUEST
    ]))),
)]
pub async fn adjust_commission(
    headers: HeaderMap,
    mut write: WriteProgram<PayOut, (ProgramId, CommissionId)>,
) -> Answer<ChangedCommission> {
    let (program_id, commission_id) = write.on.ids;
    write.just_proved()?;
    let request: AdjustRequest = write.body().json()?;
    let by = amount(&request.amount_cents)?;
    let reason = reason(request.reason)?;
    let new = order(&write.app, program_id, Change::By(by), &reason);
    let asked = json!([commission_id.get(), by.get(), reason.as_str()]);
    if let Some(key) = IdempotencyKey::read(&headers, &asked)? {
        let name = key.key.as_str();
        let made = adjustments::take_key(&mut write.db, program_id, name, &key.request_hash, new.now).await?;
        if made.is_some() {
            key.check(made.as_deref())?;
            return Ok(data(
                read_changed(&mut write.db, program_id, commission_id).await?,
            ));
        }
    }
    let ids = [commission_id.get()];
    let changed =
        changed(by_hand::change(&mut write.db, &ids, &new, || EventId::new(write.app.clock.mint())).await?)?;
    let currency = changed
        .first()
        .map(|(commission, _)| commission.currency.as_str());
    let details = json!({ "amount_cents": by.get(), "currency": currency });
    write.audit("commission.adjusted", commission_id.get(), details);
    write.commit().await?;
    let one = changed.first().map(ChangedCommission::from);
    one.map(data).ok_or(ApiError::NotFound("Commission not found"))
}

/// The current state of a commission: since an earlier call changed it, it may have been changed again or
/// paid.
pub async fn read_changed(
    connection: &mut PgConnection,
    program_id: ProgramId,
    commission_id: CommissionId,
) -> Result<ChangedCommission, ApiError> {
    let locked = payouts::lock_listed(connection, program_id, &[commission_id.get()]).await?;
    let commission = locked.first().ok_or(ApiError::NotFound("Commission not found"))?;
    Ok(ChangedCommission::from(commission))
}

const NOT_CHANGEABLE: &str = "Some commissions cannot be changed; none was";

fn changed<T>(changed: Result<T, by_hand::Refused>) -> Result<T, ApiError> {
    changed.map_err(|reasons| refused_commissions(NOT_CHANGEABLE, &reasons))
}

fn order<'a>(
    app: &App,
    program_id: ProgramId,
    change: Change,
    reason: &'a RefundReason,
) -> NewAdjustment<'a> {
    NewAdjustment {
        event_id: EventId::new(app.clock.mint()),
        program_id,
        change,
        reason: reason.as_str(),
        now: app.clock.now(),
    }
}

fn reason(field: Field<String>) -> Result<RefundReason, ApiError> {
    field.required_text("reason", "reason is required")
}

fn amount(field: &Field<i64>) -> Result<Cents, ApiError> {
    let most = AmountCents::MAX.get();
    match field {
        Field::Given(cents) if *cents != 0 && (-most..=most).contains(cents) => Ok(Cents::new(*cents)),
        Field::Absent => Err(ApiError::bad_request("amount_cents is required")),
        Field::Given(_) | Field::WrongType => Err(refused(
            "amount_cents",
            &format!("must be an integer from -{most} to {most}, not 0"),
        )),
    }
}
