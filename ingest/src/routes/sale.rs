//! `POST /api/v1/track/sale`: a payment was made.
//!
//! Order of the checks: credential, body, claim, and then everything a worker finds out. A transaction_id that is
//! taken is 409 whatever else the body says, also while the first call is still on its way.

use axum::Json;
use axum::extract::State;
use common::domain::click_id::ClickId;
use common::domain::ids::{CommissionId, EventId, SaleId};
use common::domain::money::{AmountCents, Currency};
use common::domain::sale::{Sale, SaleRefusal, SaleType, SubscriptionInterval};
use common::domain::text::Text;
use common::messages::sale::{NoCommission, SaleOutcome, SaleRecord};
use common::storage::claims::NewClaim;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use tokio::time::Instant;

use crate::app::App;
use crate::body::{TrackingBody, parse};
use crate::caller::Caller;
use crate::claims::{ClaimRequest, Claimed};
use crate::error::ApiError;
use crate::field::{Field, free_form, object, refused};
use crate::pipeline::{encode, not_claimed, outcome};
use crate::routes::test_mode::AdditionalData;

const FAILED: &str = "Sale tracking failed";
const MAX_LINE_ITEMS_BYTES: usize = 32 * 1024;

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct SaleRequest<'a> {
    transaction_id: Field<String>,
    amount_cents: Field<i64>,
    customer_key: Field<String>,
    click_id: Field<String>,
    currency: Field<String>,
    sale_type: Field<String>,
    #[serde(borrow)]
    line_items: Option<&'a RawValue>,
    is_recurring: Field<bool>,
    subscription_id: Field<String>,
    subscription_interval: Field<String>,
    product_id: Field<String>,
    #[serde(deserialize_with = "object")]
    additional_data: Option<AdditionalData>,
}

#[derive(Debug, Serialize)]
#[serde(untagged)]
pub enum SaleAnswer {
    Recorded {
        success: bool,
        sale_id: SaleId,
        /// `None` when nothing is due on this payment; `message` says why.
        commission_id: Option<CommissionId>,
        /// All of them, where the program splits commissions.
        #[serde(skip_serializing_if = "Option::is_none")]
        commission_ids: Option<Vec<CommissionId>>,
        message: String,
    },
    NotAttributed {
        success: bool,
        attributed: bool,
        reason: &'static str,
        click_age_days: i64,
        window_days: u16,
        sale_id: Option<SaleId>,
        commission_id: Option<CommissionId>,
    },
}

pub async fn sale(
    State(app): State<App>,
    caller: Caller,
    body: TrackingBody,
) -> Result<Json<SaleAnswer>, ApiError> {
    let deadline = Instant::now() + app.pipeline.answer_within;
    let program_id = caller.program("Missing API token", FAILED)?;
    let bytes = body.bytes()?;
    let sale = parse::<SaleRequest<'_>>(&bytes)?.validate()?;
    let event_id = EventId::new(app.clock.mint());
    let record = SaleRecord {
        event_id,
        sold_at: app.clock.now(),
        program_id,
        sale,
    };
    let encoded = encode(&record, FAILED)?;
    // Before claiming: the outcome may be faster than the answer to the claim.
    let waiter = app.pipeline.inbox.expect(event_id.get());
    let claim = NewClaim {
        transaction_id: record.sale.transaction_id.into(),
        program_id,
        event_id,
        reply_to: app.pipeline.inbox.subject().to_owned(),
        payload: encoded.get().to_owned(),
    };
    let claimed = app
        .pipeline
        .claims
        .claim(ClaimRequest {
            claim,
            record: encoded,
        })
        .await;
    match claimed.map_err(|error| not_claimed(error, FAILED))? {
        Claimed::Won => answer(outcome(waiter, deadline, FAILED).await?),
        Claimed::Taken => Err(ApiError::Conflict(
            "Duplicate transaction_id. This sale has already been recorded.",
        )),
    }
}

impl SaleRequest<'_> {
    fn validate(self) -> Result<Sale, ApiError> {
        if let Some(additional_data) = self.additional_data {
            additional_data.refuse_test_mode()?;
        }
        let transaction_id = self.transaction_id.required_text(
            "transaction_id",
            "transaction_id is required and must be a string",
        )?;
        let amount = match self.amount_cents {
            Field::Given(cents) => AmountCents::new(cents),
            Field::Absent | Field::WrongType => None,
        };
        let amount = amount.ok_or_else(|| {
            ApiError::bad_request("amount_cents is required and must be a positive integer")
        })?;
        let currency: Option<Text<8>> = self.currency.text("currency")?;
        let sale_type: Option<Text<255>> = self.sale_type.text("sale_type")?;
        let interval: Option<Text<255>> = self.subscription_interval.text("subscription_interval")?;
        let click_id: Option<Text<255>> = self.click_id.text("click_id")?;
        Ok(Sale {
            transaction_id,
            amount,
            currency: currency.map_or(Ok(Currency::default()), |text| {
                Currency::parse(text.as_str())
                    .ok_or_else(|| refused("currency", "must be a three-letter ISO 4217 code"))
            })?,
            customer_key: self.customer_key.text("customer_key")?,
            click_id: click_id.and_then(|text| ClickId::parse(text.as_str())),
            sale_type: sale_type.map_or(Ok(SaleType::default()), |text| {
                SaleType::parse(text.as_str())
                    .ok_or_else(|| refused("sale_type", "must be payment or subscription"))
            })?,
            is_recurring: self.is_recurring.flag("is_recurring")?,
            subscription_id: self.subscription_id.text("subscription_id")?,
            subscription_interval: interval
                .map(|text| {
                    SubscriptionInterval::parse(text.as_str()).ok_or_else(|| {
                        refused("subscription_interval", "must be monthly, quarterly or annual")
                    })
                })
                .transpose()?,
            product_id: self.product_id.text("product_id")?,
            line_items: free_form(self.line_items, "line_items", MAX_LINE_ITEMS_BYTES)?,
        })
    }
}

fn answer(outcome: SaleOutcome) -> Result<Json<SaleAnswer>, ApiError> {
    let answer = match outcome {
        SaleOutcome::Recorded {
            no_commission: Some(NoCommission::PartnerMissing),
            ..
        } => {
            return Err(ApiError::bad_request("partnerId required to create commission"));
        }
        SaleOutcome::Recorded {
            sale_id,
            commission_ids,
            split,
            no_commission,
        } => SaleAnswer::Recorded {
            success: true,
            sale_id,
            commission_id: commission_ids.last().copied(),
            message: message(no_commission),
            commission_ids: split.then_some(commission_ids),
        },
        SaleOutcome::WindowExpired {
            click_age_days,
            window_days,
        } => SaleAnswer::NotAttributed {
            success: true,
            attributed: false,
            reason: "attribution_window_expired",
            click_age_days,
            window_days,
            sale_id: None,
            commission_id: None,
        },
        SaleOutcome::Refused(reason) => return Err(refusal(reason)),
    };
    Ok(Json(answer))
}

fn message(no_commission: Option<NoCommission>) -> String {
    match no_commission {
        Some(NoCommission::NothingDue(reason)) => {
            format!(
                "Sale tracked successfully. No commission is due: {}",
                reason.message()
            )
        }
        _ => "Sale tracked successfully".to_owned(),
    }
}

fn refusal(reason: SaleRefusal) -> ApiError {
    ApiError::bad_request(match reason {
        SaleRefusal::CustomerNotFound => "Customer not found. Provide customer_key or click_id.",
        SaleRefusal::NoAttribution => "No affiliate attribution found for this customer in this program",
        SaleRefusal::NoRelationship => "No partner-program relationship found for this customer",
    })
}
