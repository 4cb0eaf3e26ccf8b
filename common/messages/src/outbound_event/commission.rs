//! `commission.*`: commissions and their changes.

use chrono::{DateTime, TimeDelta, Utc};
use serde::Serialize;

use super::example_time;
use crate::instant::as_instant;

/// A commission as this event left it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct CommissionEvent {
    pub program_id: i64,
    pub commission_id: i64,
    /// Null, like what is of the sale, when it was added by hand and makes up for no sale.
    pub sale_id: Option<i64>,
    pub transaction_id: Option<String>,
    pub customer_key: Option<String>,
    pub click_id: Option<String>,
    pub partner_id: i64,
    /// The partner, as a member of the program.
    pub partner_program_id: i64,
    pub referral_link_code: Option<String>,
    /// What was earned, changes by hand included.
    pub amount_cents: i64,
    /// What refunds have taken of it so far.
    pub deducted_cents: i64,
    pub currency: String,
    /// `pending`, `approved`, `paid`, `refunded` or `reversed`.
    pub status: String,
    #[serde(serialize_with = "as_instant")]
    pub hold_until: DateTime<Utc>,
}

/// A commission that was changed by hand.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct CommissionChanged {
    #[serde(flatten)]
    pub commission: CommissionEvent,
    /// What was added to its amount; taken from it when negative.
    pub changed_by_cents: i64,
    /// The advertiser's, which the partner reads, too.
    pub reason: String,
}

/// A commission of which a refund took all or a part; or one that is not due, because an earlier click or payment became known.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct CommissionReversed {
    #[serde(flatten)]
    pub commission: CommissionEvent,
    /// What was taken of it this time.
    pub reversed_cents: i64,
    pub reason: Option<String>,
}

/// A commission that a payout paid.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct CommissionPaid {
    #[serde(flatten)]
    pub commission: CommissionEvent,
    pub payout_id: i64,
    /// What the partner is to receive for it.
    pub paid_cents: i64,
    /// What of it settled a debt instead: a commission that was paid, and reversed afterwards.
    pub withheld_cents: i64,
}

impl CommissionEvent {
    pub fn example(program_id: i64, status: &str) -> Self {
        Self {
            program_id,
            commission_id: 12,
            sale_id: Some(34),
            transaction_id: Some("in_1042".to_owned()),
            customer_key: Some("user-42".to_owned()),
            click_id: Some("cust_4503599627370_1789990000000".to_owned()),
            partner_id: 6,
            partner_program_id: 5,
            referral_link_code: Some("ada".to_owned()),
            amount_cents: 980,
            deducted_cents: 0,
            currency: "USD".to_owned(),
            status: status.to_owned(),
            hold_until: example_time() + TimeDelta::days(15),
        }
    }
}

impl CommissionChanged {
    pub fn adjusted_example(program_id: i64) -> Self {
        Self {
            commission: CommissionEvent {
                amount_cents: 1_480,
                ..CommissionEvent::example(program_id, "approved")
            },
            changed_by_cents: 500,
            reason: "Best of May".to_owned(),
        }
    }

    pub fn rejected_example(program_id: i64) -> Self {
        Self {
            commission: CommissionEvent {
                amount_cents: 0,
                ..CommissionEvent::example(program_id, "reversed")
            },
            changed_by_cents: -980,
            reason: "The customer is the partner".to_owned(),
        }
    }
}

impl CommissionReversed {
    pub fn example(program_id: i64) -> Self {
        Self {
            commission: CommissionEvent {
                deducted_cents: 400,
                ..CommissionEvent::example(program_id, "refunded")
            },
            reversed_cents: 400,
            reason: Some("returned".to_owned()),
        }
    }
}

impl CommissionPaid {
    pub fn example(program_id: i64) -> Self {
        Self {
            commission: CommissionEvent::example(program_id, "paid"),
            payout_id: 7,
            paid_cents: 980,
            withheld_cents: 0,
        }
    }
}
