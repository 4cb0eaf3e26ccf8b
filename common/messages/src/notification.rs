//! `tracking.notifications`: one record for each message to a person, sent through the outbox.

use serde::{Deserialize, Serialize};

use domain::earnings::commission::CommissionStatus;
use domain::ids::{CommissionId, EventId, PartnerId, ProgramId, SaleId};
use domain::money::{Cents, Currency};

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct NotificationRecord {
    /// Assigned with the notification. A redelivered notification is stored once.
    pub event_id: EventId,
    pub program_id: ProgramId,
    pub recipient: Recipient,
    pub content: Content,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Recipient {
    Partner(PartnerId),
    Advertiser,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Content {
    /// To the partner: a refund reduced one of their commissions.
    CommissionDeducted(Deduction),
    /// To the advertiser: a refund reduced a commission that was already paid, so the partner has the money.
    PaidCommissionDeducted(Deduction),
    /// To the partner: the advertiser rejected a commission, or adjusted it by an amount.
    CommissionAdjusted(Adjustment),
    /// To the partner: the advertiser added a commission by hand.
    CommissionAdded(Adjustment),
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Adjustment {
    /// `None` for a commission that was added by hand.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sale_id: Option<SaleId>,
    pub commission_id: CommissionId,
    pub status: CommissionStatus,
    /// Negative for a reduction.
    pub by: Cents,
    pub currency: Currency,
    pub reason: String,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Deduction {
    pub sale_id: SaleId,
    pub commission_id: CommissionId,
    /// `refunded` or `reversed`.
    pub status: CommissionStatus,
    pub deducted: Cents,
    pub currency: Currency,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refund_reason: Option<String>,
}
