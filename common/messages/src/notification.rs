//! `tracking.notifications`: one record a message to a person, sent through the outbox.

use serde::{Deserialize, Serialize};

use domain::commission::CommissionStatus;
use domain::ids::{CommissionId, EventId, PartnerId, ProgramId, SaleId};
use domain::money::{Cents, Currency};

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct NotificationRecord {
    /// Minted with the notification; a redelivered one is stored once.
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
    /// To the partner: a refund took from a commission of theirs.
    CommissionDeducted(Deduction),
    /// To the advertiser: the commission was already paid out, so the money is with the partner.
    PaidCommissionDeducted(Deduction),
    /// To the partner: the advertiser rejected a commission, or adjusted it by an amount.
    CommissionAdjusted(Adjustment),
    /// To the partner: the advertiser added a commission by hand.
    CommissionAdded(Adjustment),
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Adjustment {
    /// `None` of a commission that was added by hand.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sale_id: Option<SaleId>,
    pub commission_id: CommissionId,
    pub status: CommissionStatus,
    /// Negative when something was taken.
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
