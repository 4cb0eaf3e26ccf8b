//! `POST …/affiliate-programs/{program_id}/commissions`: adds a commission by hand, such as a bonus or a
//! commission that a sale failed to earn.

use axum::http::HeaderMap;
use domain::ids::{CommissionId, EventId, PartnerProgramId, ProgramId, SaleId};
use domain::money::{AmountCents, Currency};
use domain::text::Text;
use serde_json::{Value, json};
use sqlx::PgConnection;
use storage::money::adjustments::{self, AddedCommission};
use storage::money::{by_hand, payouts};
use storage::program::partners;

use super::commission_changes::{ChangedCommission, read_changed};
use super::payouts::not_a_currency;
use crate::http::field::{Field, refused};
use crate::management::access::WriteProgram;
use crate::management::access::right::PayOut;
use crate::management::answers::{Created, created};
use crate::management::idempotency::{ANOTHER_REQUEST, IdempotencyKey};
use crate::management::prelude::*;

#[derive(Debug, Deserialize, ToSchema)]
pub struct NewCommissionRequest {
    /// The partner, as a member of the program.
    #[schema(value_type = i64)]
    #[serde(default)]
    partner_program_id: Field<i64>,
    #[schema(value_type = i64, minimum = 1)]
    #[serde(default)]
    amount_cents: Field<i64>,
    #[schema(value_type = String)]
    #[serde(default)]
    currency: Field<String>,
    /// What it is for; the partner reads it.
    #[schema(value_type = String, max_length = 1000)]
    #[serde(default)]
    note: Field<String>,
    /// A sale that earned nothing, and should have. Refunds of it take nothing from the commission.
    #[schema(value_type = Option<String>)]
    transaction_id: Field<String>,
}

struct Order {
    partner_program_id: PartnerProgramId,
    amount: AmountCents,
    currency: Currency,
    note: Text<1000>,
    transaction_id: Option<Text<255>>,
}

impl NewCommissionRequest {
    fn parse(self) -> Result<Order, ApiError> {
        let required = |missing| move || ApiError::bad_request(missing);
        let partner_program_id = self.partner_program_id.required_integer("partner_program_id")?;
        let cents = self.amount_cents.optional(not_an_amount)?;
        let cents = cents.ok_or_else(required("amount_cents is required"))?;
        let amount = AmountCents::new(cents).ok_or_else(not_an_amount)?;
        let code = self.currency.optional(not_a_currency)?;
        let code = code.ok_or_else(required("currency is required"))?;
        Ok(Order {
            partner_program_id: PartnerProgramId::new(partner_program_id),
            amount,
            currency: Currency::parse(&code).ok_or_else(not_a_currency)?,
            note: self.note.required_text("note", "note is required")?,
            transaction_id: self.transaction_id.text("transaction_id")?,
        })
    }
}

impl Order {
    fn asked(&self) -> Value {
        json!([
            self.partner_program_id.get(),
            self.amount.get(),
            self.currency.to_string(),
            self.note.as_str(),
            self.transaction_id.as_ref().map(Text::as_str)
        ])
    }
}

/// Add a commission by hand
///
/// A bonus, or what a sale should have earned. No refund takes from it, also not one of the sale it makes up for; it can be rejected and adjusted like
/// any other. It is approved at once, and its partner is notified. With an `Idempotency-Key`, the same call again answers with
/// the commission it added, and another call is refused.
#[utoipa::path(
    post,
    path = "/api/advertiser/affiliate-programs/{program_id}/commissions",
    params(
        ("Idempotency-Key" = Option<String>, Header, description = "Of the caller's choice, at most 200 characters."),
    ),
    request_body = NewCommissionRequest,
    responses(
        (status = 201, description = "Added, by this call or an earlier one of the same key.", body = Data<ChangedCommission>),
        (status = 400, description = "A field is not what it must be.", body = PlatformError),
        (status = 409, description = "The `Idempotency-Key` was used for another request, or the sale has earned.", body = PlatformError),
    ),
    extensions(("x-refusals" = json!([not_an_amount(), not_a_currency(), ANOTHER_REQUEST, ALREADY_EARNED]))),
)]
pub async fn add_commission(
    headers: HeaderMap,
    mut write: WriteProgram<PayOut>,
) -> Created<ChangedCommission> {
    let program_id = write.on.ids;
    write.just_proved()?;
    let order = write.body().json::<NewCommissionRequest>()?.parse()?;
    let key = IdempotencyKey::read(&headers, &order.asked())?;
    if let Some(key) = &key {
        let name = key.key.as_str();
        payouts::lock_key(&mut write.db, program_id, name).await?;
        if let Some(made) = adjustments::find_by_key(&mut write.db, program_id, name).await? {
            key.check(made.request_hash.as_deref())?;
            return Ok(created(
                read_changed(&mut write.db, program_id, made.commission_id).await?,
            ));
        }
    }
    let commission_id = add(&write.app, &mut write.db, program_id, &order, key.as_ref()).await?;
    let added = read_changed(&mut write.db, program_id, commission_id).await?;
    let details = json!({
        "partner_program_id": order.partner_program_id.get(), "amount_cents": order.amount.get(),
        "currency": order.currency.to_string(),
    });
    write.audit("commission.added", commission_id.get(), details);
    write.answer(created(added)).await
}

async fn add(
    app: &App,
    connection: &mut PgConnection,
    program_id: ProgramId,
    order: &Order,
    key: Option<&IdempotencyKey>,
) -> Result<CommissionId, ApiError> {
    let member = partners::find(connection, program_id, order.partner_program_id).await?;
    let partner = member
        .and_then(|member| member.partner)
        .ok_or(ApiError::NotFound("Partner not found"))?;
    let for_sale = match &order.transaction_id {
        Some(transaction_id) => {
            Some(made_up_for(connection, program_id, order, transaction_id.as_str()).await?)
        }
        None => None,
    };
    let new = AddedCommission {
        event_id: EventId::new(app.clock.mint()),
        program_id,
        partner_program_id: order.partner_program_id,
        partner_id: partner.partner_id,
        amount: order.amount,
        currency: order.currency,
        note: order.note.as_str(),
        for_sale,
        idempotency_key: key.map(|named| named.key.as_str()),
        request_hash: key.map(|named| named.request_hash.as_slice()),
        now: app.clock.now(),
    };
    Ok(by_hand::add(connection, &new, || EventId::new(app.clock.mint())).await?)
}

async fn made_up_for(
    connection: &mut PgConnection,
    program_id: ProgramId,
    order: &Order,
    transaction_id: &str,
) -> Result<SaleId, ApiError> {
    let member = order.partner_program_id;
    let sale = adjustments::lock_sale(connection, program_id, transaction_id, member).await?;
    let sale = sale.ok_or(ApiError::NotFound("Sale not found"))?;
    if sale.earned {
        return Err(ALREADY_EARNED);
    }
    Ok(sale.sale_id)
}

const ALREADY_EARNED: ApiError = ApiError::Conflict("This sale has earned a commission already");

fn not_an_amount() -> ApiError {
    let most = AmountCents::MAX.get();
    refused("amount_cents", &format!("must be an integer from 1 to {most}"))
}
