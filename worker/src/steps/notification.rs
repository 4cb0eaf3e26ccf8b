//! E-mail notifications. A separate consumer: a failure here never reaches an HTTP answer.

use std::collections::HashMap;

use bus::consume::{Delivered, StepError};
use domain::ids::PartnerId;
use domain::money::{Amount, Cents, Currency};
use messages::notification::{Adjustment, Content, Deduction, NotificationRecord, Recipient};
use messages::subject::Subject;
use sqlx::PgConnection;
use storage::StorageResult;
use storage::operations::notifications::{self, NewNotification};

use super::transaction::{BatchResult, TransactionalStep};

#[derive(Debug)]
pub struct NotificationStep;

impl TransactionalStep for NotificationStep {
    type Record = NotificationRecord;
    type Prepared = Vec<NewNotification>;
    type Outcome = ();
    const SUBJECT: Subject = Subject::Notifications;

    async fn prepare(
        &self,
        batch: &[Delivered<NotificationRecord>],
    ) -> Result<Vec<NewNotification>, StepError> {
        let composed = batch.iter().map(|delivered| compose(&delivered.record));
        let composed: Result<Vec<_>, _> = composed.collect();
        composed.map_err(|error| StepError::Permanent(error.into()))
    }

    async fn process(
        &self,
        connection: &mut PgConnection,
        _: &[Delivered<NotificationRecord>],
        new: Vec<NewNotification>,
    ) -> StorageResult<BatchResult<()>> {
        notifications::add(connection, &new).await?;
        Ok(BatchResult::of(HashMap::new()))
    }
}

fn compose(record: &NotificationRecord) -> Result<NewNotification, serde_json::Error> {
    let (kind, message, details) = match &record.content {
        Content::CommissionDeducted(deduction) => {
            let message = deducted_message(deduction);
            ("commission_deducted", message, serde_json::to_value(deduction)?)
        }
        Content::PaidCommissionDeducted(deduction) => (
            "paid_commission_deducted",
            manual_review_message(deduction),
            serde_json::to_value(deduction)?,
        ),
        Content::CommissionAdjusted(adjustment) => (
            "commission_adjusted",
            adjusted_message(adjustment),
            serde_json::to_value(adjustment)?,
        ),
        Content::CommissionAdded(addition) => (
            "commission_added",
            added_message(addition),
            serde_json::to_value(addition)?,
        ),
    };
    Ok(NewNotification {
        event_id: record.event_id.get(),
        program_id: record.program_id.get(),
        partner_id: match record.recipient {
            Recipient::Partner(partner_id) => Some(PartnerId::get(partner_id)),
            Recipient::Advertiser => None,
        },
        kind,
        message,
        details,
    })
}

fn adjusted_message(adjustment: &Adjustment) -> String {
    let (id, status) = (adjustment.commission_id, adjustment.status.as_str());
    let (by, reason) = (amount(adjustment.by, adjustment.currency), &adjustment.reason);
    format!("Commission {id} was changed by {by:+}, and is {status}. Reason: {reason}")
}

fn added_message(addition: &Adjustment) -> String {
    let (id, note) = (addition.commission_id, &addition.reason);
    let amount = amount(addition.by, addition.currency);
    format!("Commission {id} of {amount} was added by hand: {note}")
}

fn deducted_message(deduction: &Deduction) -> String {
    let (id, status) = (deduction.commission_id, deduction.status.as_str());
    let (amount, reason) = (amount(deduction.deducted, deduction.currency), reason(deduction));
    format!("Commission {id} was {status}: {amount} deducted.{reason}")
}

fn manual_review_message(deduction: &Deduction) -> String {
    let (id, status) = (deduction.commission_id, deduction.status.as_str());
    let (amount, reason) = (amount(deduction.deducted, deduction.currency), reason(deduction));
    format!(
        "Commission {id} was {status} after it had been paid out: review {amount} with the partner.{reason}"
    )
}

const fn amount(cents: Cents, currency: Currency) -> Amount {
    Amount { cents, currency }
}

fn reason(deduction: &Deduction) -> String {
    deduction
        .refund_reason
        .as_ref()
        .map(|reason| format!(" Reason: {reason}"))
        .unwrap_or_default()
}
