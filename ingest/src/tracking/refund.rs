//! `POST /api/v1/track/refund`: a refund or a chargeback returned a payment.

use axum::Json;
use axum::extract::State;
use domain::earnings::commission::CommissionStatus;
use domain::earnings::refund::{RefundKey, RefundRequest, SkipReason};
use domain::ids::{CommissionId, EventId, ProgramId};
use domain::money::{AmountCents, Cents};
use domain::programs::tracking_token::TokenScope;
use domain::text::{RefundId, RefundReason, TransactionId};
use messages::refund::{RefundOutcome, RefundRecord};
use serde::{Deserialize, Serialize};
use serde_json::json;
use utoipa::ToSchema;

use crate::app::App;
use crate::http::body::{RequestBody, parse};
use crate::http::error::ApiError;
use crate::http::field::Field;
use crate::http::openapi::envelopes::PlatformError;
use crate::http::openapi::examples::Examples;
use crate::tracking::caller::{Caller, out_of_scope};
use crate::tracking::test_mode::{AdditionalData, AdditionalFields, TestAnswer};

const FAILED: &str = "Refund tracking failed";

#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = RefundRequest)]
pub struct RefundBody {
    /// The sale's transaction_id.
    /// Test mode does without.
    #[schema(value_type = Option<String>, min_length = 1, max_length = 255, examples("order-1001"))]
    transaction_id: Field<String>,
    /// This refund alone, in the currency's smallest unit; the rest of the sale when absent or 0. What goes beyond
    /// the sale is not counted.
    #[schema(value_type = Option<i64>, minimum = 0, examples(1500))]
    refund_amount_cents: Field<i64>,
    /// Names this refund, so that a repeat of it has no effect. Without it, the same amount again is a repeat.
    #[schema(value_type = Option<String>, max_length = 255, examples("refund-1"))]
    refund_id: Field<String>,
    #[schema(value_type = Option<String>, max_length = 1000, examples("changed their mind"))]
    refund_reason: Field<String>,
    #[schema(value_type = Option<AdditionalFields>)]
    additional_data: AdditionalData,
}

#[derive(Debug)]
struct Refund {
    transaction_id: TransactionId,
    request: RefundRequest,
    refund_reason: Option<RefundReason>,
}

#[derive(Debug, Serialize, ToSchema)]
#[serde(untagged)]
pub enum RefundAnswer {
    #[schema(title = "AppliedRefund")]
    Applied {
        success: bool,
        /// `reversed` once the whole sale is refunded, `refunded` before.
        #[schema(value_type = String, pattern = "^(reversed|refunded)$")]
        status: CommissionStatus,
        /// A hundredth of the amount in the sale's smallest unit: dollars, and yen divided by a hundred.
        #[serde(rename = "deductionAmount")]
        deduction_amount: f64,
        #[schema(value_type = i64)]
        commission_id: CommissionId,
    },
    /// A repeat, or nothing of the sale was left to refund.
    #[schema(title = "SkippedRefund")]
    Skipped {
        success: bool,
        #[schema(pattern = "^skipped$")]
        status: &'static str,
        reason: &'static str,
        #[schema(value_type = Option<i64>, required = true)]
        commission_id: Option<CommissionId>,
    },
    #[schema(title = "RefundWithoutCommission")]
    NoCommission {
        success: bool,
        #[schema(pattern = "^no_commission$")]
        status: &'static str,
        message: &'static str,
    },
    Test(TestAnswer),
}

/// Record a refund
///
/// Money went back, by refund or by chargeback: the sale's commission is reduced by the same share. One call a refund.
#[utoipa::path(
    post,
    path = "/api/v1/track/refund",
    tag = "tracking",
    security(("program_key" = [])),
    request_body = RefundBody,
    responses(
        (status = 200, description = "Applied, a repeat, or without any effect.", body = RefundAnswer),
        (status = 403, description = "The token is for other calls.", body = PlatformError),
        (status = 404, description = "No sale of this program has the transaction_id.", body = PlatformError),
    )
)]
pub async fn refund(
    State(app): State<App>,
    caller: Caller,
    body: RequestBody,
) -> Result<Json<RefundAnswer>, ApiError> {
    // Unlike for a sale, an empty token is answered as invalid.
    let program_id = caller.refunding_program("Invalid API token", FAILED)?;
    let bytes = body.bytes()?;
    let mut body = parse::<RefundBody>(&bytes)?;
    if std::mem::take(&mut body.additional_data).fields()?.is_test()? {
        body.validate_test()?;
        return Ok(Json(RefundAnswer::Test(TestAnswer::of_refund(program_id))));
    }
    let refund = body.validate()?;
    let record = RefundRecord {
        event_id: EventId::new(app.clock.mint()),
        refunded_at: app.clock.now(),
        program_id,
        transaction_id: refund.transaction_id,
        request: refund.request,
        refund_reason: refund.refund_reason,
    };
    let lane = &app.pipeline.refunds;
    let outcome = app
        .pipeline
        .publish_and_await(lane, Some(program_id), record.event_id, &record, FAILED)
        .await?;
    answer(&outcome).map(Json)
}

impl RefundBody {
    /// Test mode does not require a transaction_id; the fields that are sent must be valid.
    fn validate_test(mut self) -> Result<(), ApiError> {
        if self.transaction_id == Field::Absent {
            self.transaction_id = Field::Given("test".to_owned());
        }
        self.validate().map(drop)
    }

    fn validate(self) -> Result<Refund, ApiError> {
        let transaction_id = self
            .transaction_id
            .required_text("transaction_id", "transaction_id is required")?;
        let amount = match self.refund_amount_cents {
            Field::Absent | Field::Given(0) => None,
            // An amount over the limit of a sale refunds the whole sale: the worker caps it there anyway.
            Field::Given(cents) => {
                Some(AmountCents::new(cents.min(AmountCents::MAX.get())).ok_or(INVALID_AMOUNT)?)
            }
            Field::WrongType => return Err(INVALID_AMOUNT),
        };
        let refund_id: Option<RefundId> = self.refund_id.text("refund_id")?;
        let key = RefundKey::for_delta(refund_id.as_ref().map(RefundId::as_str), amount);
        Ok(Refund {
            transaction_id,
            request: RefundRequest::Delta { key, amount },
            refund_reason: self.refund_reason.text("refund_reason")?,
        })
    }
}

/// The parsed request: the refund, and its sale's transaction_id; `None` in test mode.
pub fn read(body: &[u8]) -> Result<Option<(TransactionId, RefundRequest)>, ApiError> {
    let mut body = parse::<RefundBody>(body)?;
    if std::mem::take(&mut body.additional_data).fields()?.is_test()? {
        return body.validate_test().map(|()| None);
    }
    let refund = body.validate()?;
    Ok(Some((refund.transaction_id, refund.request)))
}

const SALE_NOT_FOUND: ApiError = ApiError::NotFound("Sale not found for transaction_id");

const INVALID_AMOUNT: ApiError = ApiError::refusal("refund_amount_cents must be a positive integer");

fn answer(outcome: &RefundOutcome) -> Result<RefundAnswer, ApiError> {
    let answer = match *outcome {
        RefundOutcome::Applied {
            status,
            deducted,
            commission_id,
        } => RefundAnswer::Applied {
            success: true,
            status,
            deduction_amount: deducted.to_dollars(),
            commission_id,
        },
        RefundOutcome::Skipped {
            reason,
            commission_id,
        } => RefundAnswer::Skipped {
            success: true,
            status: "skipped",
            reason: reason.as_str(),
            commission_id,
        },
        RefundOutcome::NoCommission => RefundAnswer::NoCommission {
            success: true,
            status: "no_commission",
            message: "Sale has no commission to reverse",
        },
        RefundOutcome::SaleNotFound => return Err(SALE_NOT_FOUND),
    };
    Ok(answer)
}

pub fn examples() -> Examples {
    let applied = RefundOutcome::Applied {
        status: CommissionStatus::Refunded,
        deducted: Cents::new(300),
        commission_id: CommissionId::new(208),
    };
    let skipped = RefundOutcome::Skipped {
        reason: SkipReason::AlreadyReversed,
        commission_id: Some(CommissionId::new(208)),
    };
    Examples::default()
        .request(
            "A part",
            json!({
                "transaction_id": "order-1001",
                "refund_amount_cents": 1500,
                "refund_id": "refund-1",
                "refund_reason": "changed their mind",
            }),
        )
        .request("The rest", json!({ "transaction_id": "order-1001" }))
        .request(
            "Test mode",
            json!({ "transaction_id": "order-1001", "additional_data": { "test_mode": true } }),
        )
        .answer("Applied", answer(&applied).ok())
        .answer("A repeat", answer(&skipped).ok())
        .answer("No commission", answer(&RefundOutcome::NoCommission).ok())
        .answer(
            "Test mode",
            RefundAnswer::Test(TestAnswer::of_refund(ProgramId::new(1))),
        )
        .refusal(&INVALID_AMOUNT)
        .refusal(&out_of_scope(TokenScope::Refund))
        .refusal(&SALE_NOT_FOUND)
        .refusal(&ApiError::internal(FAILED, anyhow::Error::msg("an example")))
}
