//! `POST /api/v1/track/sale`: a payment was made.
//!
//! Order of the checks: credential, body, claim, and then everything a worker finds out. A transaction_id that is
//! taken is 409 whatever else the body says, also while the first call is still on its way.

use axum::Json;
use axum::extract::State;
use chrono::{DateTime, Utc};
use common::domain::click_id::ClickId;
use common::domain::ids::{CommissionId, EventId, SaleId};
use common::domain::money::{AmountCents, Currency};
use common::domain::sale::{Sale, SaleRefusal, SaleType, SubscriptionInterval};
use common::domain::text::{CustomerKey, ProductId, SubscriptionId, Text, TransactionId};
use common::messages::sale::{NoCommission, SaleOutcome, SaleRecord};
use common::messages::test_event::{TestEvent, TestSale};
use common::storage::claims::NewClaim;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use tokio::time::Instant;

use crate::app::App;
use crate::body::{TrackingBody, parse};
use crate::caller::Caller;
use crate::claims::{ClaimRequest, Claimed};
use crate::error::ApiError;
use crate::field::{Field, free_form, refused};
use crate::pipeline::{encode, not_claimed, outcome};
use crate::routes::test_mode::{AdditionalData, TestAnswer, generated_transaction_id};

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
    additional_data: AdditionalData,
}

/// A sale as asked for, valid in form, but for what test mode does without.
#[derive(Debug)]
struct Details {
    currency: Currency,
    customer_key: Option<CustomerKey>,
    click_id: Option<ClickId>,
    sale_type: SaleType,
    is_recurring: bool,
    subscription_id: Option<SubscriptionId>,
    subscription_interval: Option<SubscriptionInterval>,
    product_id: Option<ProductId>,
    line_items: Option<Box<RawValue>>,
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
    Test(TestAnswer),
}

pub async fn sale(
    State(app): State<App>,
    caller: Caller,
    body: TrackingBody,
) -> Result<Json<SaleAnswer>, ApiError> {
    let deadline = Instant::now() + app.pipeline.answer_within;
    let program_id = caller.program("Missing API token", FAILED)?;
    let bytes = body.bytes()?;
    let mut request = parse::<SaleRequest<'_>>(&bytes)?;
    if std::mem::take(&mut request.additional_data).fields()?.is_test()? {
        let sale = request.validate_test(app.clock.now())?;
        let test = TestEvent::Sale(Box::new(sale));
        let answer = app.record_test(program_id, test, FAILED).await?;
        return Ok(Json(SaleAnswer::Test(answer)));
    }
    let sale = request.validate()?;
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
    fn validate(mut self) -> Result<Sale, ApiError> {
        let transaction_id = transaction_id(std::mem::take(&mut self.transaction_id))?;
        let amount = amount(&self.amount_cents)?;
        let details = self.details()?;
        Ok(Sale {
            transaction_id,
            amount,
            currency: details.currency,
            customer_key: details.customer_key,
            click_id: details.click_id,
            sale_type: details.sale_type,
            is_recurring: details.is_recurring,
            subscription_id: details.subscription_id,
            subscription_interval: details.subscription_interval,
            product_id: details.product_id,
            line_items: details.line_items,
        })
    }

    /// A test may leave out its transaction_id and its amount; what it does say must be right.
    fn validate_test(mut self, now: DateTime<Utc>) -> Result<TestSale, ApiError> {
        let transaction_id = match std::mem::take(&mut self.transaction_id) {
            Field::Absent => transaction_id(Field::Given(generated_transaction_id(now)))?,
            given => transaction_id(given)?,
        };
        let amount = match self.amount_cents {
            Field::Absent => None,
            ref given => Some(amount(given)?),
        };
        let details = self.details()?;
        Ok(TestSale {
            transaction_id,
            amount,
            currency: details.currency,
            sale_type: details.sale_type,
            is_recurring: details.is_recurring,
            subscription_id: details.subscription_id,
            subscription_interval: details.subscription_interval,
            product_id: details.product_id,
            line_items: details.line_items,
        })
    }

    fn details(self) -> Result<Details, ApiError> {
        let currency: Option<Text<8>> = self.currency.text("currency")?;
        let sale_type: Option<Text<255>> = self.sale_type.text("sale_type")?;
        let interval: Option<Text<255>> = self.subscription_interval.text("subscription_interval")?;
        let click_id: Option<Text<255>> = self.click_id.text("click_id")?;
        Ok(Details {
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

fn transaction_id(field: Field<String>) -> Result<TransactionId, ApiError> {
    field.required_text(
        "transaction_id",
        "transaction_id is required and must be a string",
    )
}

fn amount(field: &Field<i64>) -> Result<AmountCents, ApiError> {
    let amount = match field {
        Field::Given(cents) => AmountCents::new(*cents),
        Field::Absent | Field::WrongType => None,
    };
    amount.ok_or_else(|| ApiError::bad_request("amount_cents is required and must be a positive integer"))
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
