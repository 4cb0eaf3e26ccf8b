//! `payout.*`.

use serde::Serialize;

/// Commissions that are paid together, in one currency.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct PayoutEvent {
    pub program_id: i64,
    pub payout_id: i64,
    /// What partners are to receive.
    pub amount_cents: i64,
    pub currency: String,
    /// Each has an event `commission.paid`, too.
    pub commission_count: i64,
    /// The advertiser's own words, such as a bank's reference.
    pub reference: Option<String>,
}

/// A payout that did not reach its partners.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct PayoutFailed {
    #[serde(flatten)]
    pub payout: PayoutEvent,
    pub reason: String,
}

impl PayoutEvent {
    pub fn example(program_id: i64) -> Self {
        Self {
            program_id,
            payout_id: 7,
            amount_cents: 1_500,
            currency: "USD".to_owned(),
            commission_count: 2,
            reference: Some("May".to_owned()),
        }
    }
}

impl PayoutFailed {
    pub fn example(program_id: i64) -> Self {
        Self {
            payout: PayoutEvent::example(program_id),
            reason: "the account was closed".to_owned(),
        }
    }
}
