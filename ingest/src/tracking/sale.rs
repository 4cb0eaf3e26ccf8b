//! `POST /api/v1/track/sale`: a customer paid.
//!
//! Order of the checks: credential, body, claim, then the worker's. A taken transaction_id is answered 409
//! whatever the other fields are, even while the first call is still in flight.

use axum::Json;
use axum::extract::State;
use chrono::{DateTime, Utc};
use domain::ids::{CommissionId, EventId, SaleId};
use domain::money::{AmountCents, CommissionableCents, Currency};
use domain::programs::tracking_token::TokenScope;
use domain::text::{CustomerKey, ProductId, SubscriptionId, Text, TransactionId};
use domain::tracking::click_id::ClickId;
use domain::tracking::sale::{Sale, SaleRefusal, SaleType, SubscriptionInterval};
use messages::sale::{NoCommission, SaleOutcome, SaleRecord};
use messages::test_event::{TestEvent, TestSale};
use serde::{Deserialize, Serialize};
use serde_json::json;
use serde_json::value::RawValue;
use storage::tracking::claims::NewClaim;
use utoipa::ToSchema;

use crate::app::App;
use crate::http::body::{RequestBody, parse};
use crate::http::error::ApiError;
use crate::http::field::{Field, Key, refused};
use crate::http::free_form::free_form;
use crate::http::openapi::envelopes::PlatformError;
use crate::http::openapi::examples::Examples;
use crate::tracking::caller::{Caller, INVALID_TOKEN, out_of_scope};
use crate::tracking::claims::ClaimRequest;
use crate::tracking::lead::customer_key_schema;
use crate::tracking::line_items;
use crate::tracking::pipeline::encode;
use crate::tracking::test_mode::{
    AdditionalData, AdditionalFields, TEST_SALE, TestAnswer, generated_transaction_id, record_test,
};

const FAILED: &str = "Sale tracking failed";

/// `customer_key`, or else `click_id`, names the customer.
#[derive(Debug, Deserialize, ToSchema)]
pub struct SaleRequest<'a> {
    /// The payment's own id, unique over all programs: a sale is recorded once, however often it is sent.
    /// Test mode does without.
    #[schema(value_type = Option<String>, min_length = 1, max_length = 255, examples("order-1001"))]
    transaction_id: Field<String>,
    /// What the customer paid, tax and shipping included, in the currency's smallest unit.
    /// Test mode does without.
    #[schema(value_type = Option<i64>, minimum = 1, maximum = 100_000_000_000_000_i64, examples(4900))]
    amount_cents: Field<i64>,
    /// What percentages are taken of: the amount without tax and shipping, 0 to `amount_cents`; the whole amount when absent.
    #[schema(value_type = Option<i64>, minimum = 0, maximum = 100_000_000_000_000_i64, examples(4118))]
    commissionable_cents: Field<i64>,
    #[schema(schema_with = customer_key_schema, required = false)]
    customer_key: Field<Key>,
    #[schema(value_type = Option<String>, max_length = 255)]
    click_id: Field<String>,
    /// Three letters of ISO 4217, in either case; `USD` when absent or empty.
    #[schema(value_type = Option<String>, pattern = "^([A-Za-z]{3})?$", examples("EUR"))]
    currency: Field<String>,
    /// `payment` (the default) or `subscription`.
    #[schema(value_type = Option<String>, pattern = "^(payment|subscription)?$", examples("subscription"))]
    sale_type: Field<String>,
    /// An object or an array of at most 32 KiB, stored as it is.
    #[schema(schema_with = line_items::schema)]
    #[serde(borrow)]
    line_items: Option<&'a RawValue>,
    /// Whether this payment renews a subscription.
    #[schema(value_type = Option<bool>)]
    is_recurring: Field<bool>,
    /// Renewals stay with the partner of their subscription's first sale.
    #[schema(value_type = Option<String>, max_length = 255, examples("sub-7"))]
    subscription_id: Field<String>,
    /// `monthly`, `quarterly` or `annual`.
    #[schema(value_type = Option<String>, pattern = "^(monthly|quarterly|annual)?$", examples("monthly"))]
    subscription_interval: Field<String>,
    /// Selects the product's own commission policy, where the program has one.
    #[schema(value_type = Option<String>, max_length = 255, examples("starter-kit"))]
    product_id: Field<String>,
    #[schema(value_type = Option<AdditionalFields>)]
    additional_data: AdditionalData,
}

/// A sale request, validated except for the fields that test mode does not require.
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

#[derive(Debug, Serialize, ToSchema)]
#[serde(untagged)]
pub enum SaleAnswer {
    #[schema(title = "RecordedSale")]
    Recorded {
        success: bool,
        #[schema(value_type = i64)]
        sale_id: SaleId,
        /// Null when nothing is due on this payment; `message` says why.
        #[schema(value_type = Option<i64>, required = true)]
        commission_id: Option<CommissionId>,
        /// All of them, where the program splits commissions.
        #[serde(skip_serializing_if = "Option::is_none")]
        #[schema(value_type = Vec<i64>, required = false)]
        commission_ids: Option<Vec<CommissionId>>,
        message: String,
    },
    /// The customer's first click is older than the program's window: nothing is recorded.
    #[schema(title = "UnattributedSale")]
    NotAttributed {
        success: bool,
        attributed: bool,
        #[schema(pattern = "^attribution_window_expired$")]
        reason: &'static str,
        /// Whole days, rounded down.
        click_age_days: i64,
        window_days: u16,
        #[schema(value_type = Option<i64>, required = true)]
        sale_id: Option<SaleId>,
        #[schema(value_type = Option<i64>, required = true)]
        commission_id: Option<CommissionId>,
    },
    Test(TestAnswer),
}

/// Record a sale
///
/// A payment was made. The service finds the partner by the customer's clicks and computes the commission by the
/// program's policy; neither can be sent. Answer 409 means that the sale is recorded already.
#[utoipa::path(
    post,
    path = "/api/v1/track/sale",
    tag = "tracking",
    security(("program_key" = [])),
    request_body = SaleRequest,
    responses(
        (status = 200, description = "Recorded, or outside the attribution window.", body = SaleAnswer),
        (status = 403, description = "The token is for other calls.", body = PlatformError),
        (status = 409, description = "Recorded already under this transaction_id.", body = PlatformError),
    )
)]
pub async fn sale(
    State(app): State<App>,
    caller: Caller,
    body: RequestBody,
) -> Result<Json<SaleAnswer>, ApiError> {
    let program_id = caller
        .program("Missing API token", FAILED)?
        .demand(TokenScope::Sale)?;
    let bytes = body.bytes()?;
    let mut request = parse::<SaleRequest<'_>>(&bytes)?;
    if std::mem::take(&mut request.additional_data).fields()?.is_test()? {
        let sale = request.validate_test(app.clock.now())?;
        let test = TestEvent::Sale(Box::new(sale));
        let answer = record_test(&app, program_id, test, FAILED).await?;
        return Ok(Json(SaleAnswer::Test(answer)));
    }
    let sale = request.validate()?;
    let event_id = EventId::new(app.clock.mint());
    let record = SaleRecord {
        event_id,
        sold_at: app.clock.now(),
        program_id,
        sale,
        from_processor: false,
    };
    let encoded = encode(&record, FAILED)?;
    let claim = NewClaim {
        transaction_id: record.sale.transaction_id.into(),
        program_id,
        event_id,
        reply_to: Some(app.pipeline.inbox.subject().to_owned()),
        payload: encoded.get().to_owned(),
    };
    let request = ClaimRequest {
        claim,
        record: encoded,
    };
    let outcome = app.pipeline.claim_and_await(request, FAILED).await?;
    answer(outcome.ok_or(DUPLICATE)?).map(Json)
}

impl SaleRequest<'_> {
    fn validate(mut self) -> Result<Sale, ApiError> {
        let transaction_id = transaction_id(std::mem::take(&mut self.transaction_id))?;
        let amount = amount(&self.amount_cents)?;
        let commissionable = commissionable(&self.commissionable_cents, amount)?;
        let details = self.details()?;
        Ok(Sale {
            transaction_id,
            amount,
            commissionable,
            currency: details.currency,
            customer_key: details.customer_key,
            click_id: details.click_id,
            processor_customer: None,
            sale_type: details.sale_type,
            is_recurring: details.is_recurring,
            subscription_id: details.subscription_id,
            subscription_interval: details.subscription_interval,
            product_id: details.product_id,
            line_items: details.line_items,
        })
    }

    /// Test mode requires neither transaction_id nor amount; the fields that are sent must be valid.
    fn validate_test(mut self, now: DateTime<Utc>) -> Result<TestSale, ApiError> {
        let transaction_id = match std::mem::take(&mut self.transaction_id) {
            Field::Absent => transaction_id(Field::Given(generated_transaction_id(now)))?,
            given => transaction_id(given)?,
        };
        let amount = match self.amount_cents {
            Field::Absent => None,
            ref given => Some(amount(given)?),
        };
        commissionable(&self.commissionable_cents, amount.unwrap_or(AmountCents::MAX))?;
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
            line_items: free_form(self.line_items, "line_items", line_items::MAX_BYTES)?,
        })
    }
}

/// The parsed request; `None` in test mode.
pub fn read(body: &[u8], now: DateTime<Utc>) -> Result<Option<Sale>, ApiError> {
    let mut request = parse::<SaleRequest<'_>>(body)?;
    if std::mem::take(&mut request.additional_data).fields()?.is_test()? {
        return request.validate_test(now).map(|_| None);
    }
    request.validate().map(Some)
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

fn commissionable(field: &Field<i64>, amount: AmountCents) -> Result<Option<CommissionableCents>, ApiError> {
    let part = match field {
        Field::Absent => return Ok(None),
        Field::Given(cents) => CommissionableCents::of(amount, *cents),
        Field::WrongType => None,
    };
    part.map(Some).ok_or_else(|| {
        refused(
            "commissionable_cents",
            "must be an integer from 0 to amount_cents",
        )
    })
}

const DUPLICATE: ApiError =
    ApiError::Conflict("Duplicate transaction_id. This sale has already been recorded.");

fn answer(outcome: SaleOutcome) -> Result<SaleAnswer, ApiError> {
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
        SaleOutcome::Duplicate => return Err(DUPLICATE),
    };
    Ok(answer)
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
        // The same answer as from an edge whose directory already knows that the program is archived.
        SaleRefusal::ProgramArchived => return ApiError::Unauthorized(INVALID_TOKEN),
        SaleRefusal::CustomerNotFound => "Customer not found. Provide customer_key or click_id.",
        SaleRefusal::NoAttribution | SaleRefusal::BeforeFirstClick => {
            "No affiliate attribution found for this customer in this program"
        }
        SaleRefusal::NoRelationship => "No partner-program relationship found for this customer",
    })
}

pub fn examples() -> Examples {
    let recorded = SaleOutcome::Recorded {
        sale_id: SaleId::new(311),
        commission_ids: vec![CommissionId::new(208)],
        split: false,
        no_commission: None,
    };
    let expired = SaleOutcome::WindowExpired {
        click_age_days: 75,
        window_days: 60,
    };
    Examples::default()
        .request(
            "A payment",
            json!({ "transaction_id": "order-1001", "amount_cents": 4900, "customer_key": "user-42" }),
        )
        .request(
            "A subscription renews",
            json!({
                "transaction_id": "invoice-2002",
                "amount_cents": 1900,
                "commissionable_cents": 1597,
                "customer_key": "user-42",
                "currency": "EUR",
                "sale_type": "subscription",
                "is_recurring": true,
                "subscription_id": "sub-7",
                "subscription_interval": "monthly",
                "product_id": "starter-kit",
                "line_items": [{ "sku": "starter-kit", "quantity": 1 }],
            }),
        )
        .request(
            "Test mode",
            json!({ "amount_cents": 4900, "additional_data": { "test_mode": true } }),
        )
        .answer("Recorded", answer(recorded).ok())
        .answer("Outside the attribution window", answer(expired).ok())
        .answer("Test mode", SaleAnswer::Test(TestAnswer::example(TEST_SALE)))
        .refusal(&refusal(SaleRefusal::CustomerNotFound))
        .refusal(&refusal(SaleRefusal::NoAttribution))
        .refusal(&out_of_scope(TokenScope::Sale))
        .refusal(&DUPLICATE)
        .refusal(&ApiError::internal(FAILED, anyhow::Error::msg("an example")))
}
