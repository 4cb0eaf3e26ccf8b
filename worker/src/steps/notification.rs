//! Messages to people. A consumer of its own: whatever happens here never reaches an HTTP answer.

use bus::consume::{DeadLetter, Delivered, Processed, Step, StepError, Verdict};
use domain::ids::PartnerId;
use messages::notification::{Adjustment, Content, Deduction, NotificationRecord, Recipient};
use messages::subject::Subject;
use storage::notifications::{self, NewNotification};

use super::{StepContext, storage_failed};

#[derive(Debug)]
pub struct NotificationStep(pub StepContext);

impl Step for NotificationStep {
    type Record = NotificationRecord;
    const SUBJECT: Subject = Subject::Notifications;

    async fn run(&self, batch: &[Delivered<NotificationRecord>]) -> Result<Processed, StepError> {
        let new = batch
            .iter()
            .map(|delivered| compose(&delivered.record))
            .collect::<Result<Vec<_>, _>>()
            .map_err(|error| StepError::Permanent(error.into()))?;
        let mut transaction = self.0.pool.begin().await.map_err(storage_failed)?;
        notifications::add(&mut transaction, &new)
            .await
            .map_err(storage_failed)?;
        transaction.commit().await.map_err(storage_failed)?;
        Ok(Processed {
            verdicts: vec![Verdict::Done; batch.len()],
            replies: Vec::new(),
        })
    }

    async fn dead_letter(&self, letter: DeadLetter) -> Result<(), StepError> {
        self.0.dead_letter(&letter).await
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
    let (by, currency) = (adjustment.by.to_dollars(), adjustment.currency.as_str());
    format!(
        "Commission {id} was changed by {by:+.2} {currency}, and is {status}. Reason: {}",
        adjustment.reason
    )
}

fn added_message(addition: &Adjustment) -> String {
    let (id, amount) = (addition.commission_id, addition.by.to_dollars());
    let (currency, note) = (addition.currency.as_str(), &addition.reason);
    format!("Commission {id} of {amount:.2} {currency} was added by hand: {note}")
}

fn deducted_message(deduction: &Deduction) -> String {
    message(deduction, &format!(": {} deducted", amount(deduction)))
}

fn manual_review_message(deduction: &Deduction) -> String {
    let review = format!(
        " after it had been paid out: review {} with the partner",
        amount(deduction)
    );
    message(deduction, &review)
}

fn message(deduction: &Deduction, what: &str) -> String {
    let (id, status) = (deduction.commission_id, deduction.status.as_str());
    format!("Commission {id} was {status}{what}.{}", reason(deduction))
}

/// Two decimals and the currency's code: `12.34 USD`.
fn amount(deduction: &Deduction) -> String {
    format!(
        "{:.2} {}",
        deduction.deducted.to_dollars(),
        deduction.currency.as_str()
    )
}

fn reason(deduction: &Deduction) -> String {
    deduction
        .refund_reason
        .as_ref()
        .map(|reason| format!(" Reason: {reason}"))
        .unwrap_or_default()
}
