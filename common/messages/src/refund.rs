//! `tracking.refunds`: one record for each refund. Ingest waits for its [`RefundOutcome`].

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use domain::earnings::commission::CommissionStatus;
use domain::earnings::refund::{RefundRequest, SkipReason};
use domain::ids::{CommissionId, EventId, ProgramId};
use domain::money::Cents;
use domain::text::{RefundReason, TransactionId};

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct RefundRecord {
    pub event_id: EventId,
    pub refunded_at: DateTime<Utc>,
    pub program_id: ProgramId,
    /// The sale's id, not the refund's.
    pub transaction_id: TransactionId,
    pub request: RefundRequest,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refund_reason: Option<RefundReason>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RefundOutcome {
    Applied {
        /// `refunded` or `reversed`.
        status: CommissionStatus,
        /// This refund's deduction from the sale's commissions, before the balance limits it.
        deducted: Cents,
        commission_id: CommissionId,
    },
    Skipped {
        reason: SkipReason,
        commission_id: Option<CommissionId>,
    },
    NoCommission,
    SaleNotFound,
}
