//! Ledger entries and notifications that follow from a change of a commission.

use domain::earnings::commission::CommissionStatus;
use domain::earnings::ledger::Entry;
use domain::ids::{CommissionId, EventId};
use domain::money::Cents;
use messages::notification::{Content, Deduction, NotificationRecord, Recipient};
use messages::subject::Subject;
use runtime::clock::Clock;
use sqlx::PgConnection;
use storage::StorageResult;
use storage::money::commissions::{LockedCommission, NewCommission};
use storage::money::ledger::NewEntry;
use storage::operations::outbox;

use crate::steps::json;

pub fn of_new(
    new: &NewCommission<'_>,
    commission_id: CommissionId,
    entry_group: EventId,
    entry: Entry,
) -> NewEntry {
    NewEntry {
        entry_group,
        entry,
        program_id: new.program_id,
        partner_program_id: new.credit.partner_program_id,
        partner_id: new.credit.partner_id,
        commission_id,
        sale_id: Some(new.sale_id),
        currency: new.currency,
    }
}

pub fn of_stored(commission: &LockedCommission, entry_group: EventId, entry: Entry) -> NewEntry {
    NewEntry {
        entry_group,
        entry,
        program_id: commission.program_id,
        partner_program_id: commission.partner_program_id,
        partner_id: commission.partner_id,
        commission_id: commission.commission_id,
        sale_id: Some(commission.sale_id),
        currency: commission.currency,
    }
}

/// Notifies the partner of a deduction, and also the advertiser if the commission was already paid out.
pub fn deduction_notifications(
    commission: &LockedCommission,
    status: CommissionStatus,
    deducted: Cents,
    reason: Option<String>,
    clock: &Clock,
) -> impl Iterator<Item = NotificationRecord> {
    let deduction = Deduction {
        sale_id: commission.sale_id,
        commission_id: commission.commission_id,
        status,
        deducted,
        currency: commission.currency,
        refund_reason: reason,
    };
    let notification = |recipient, content| NotificationRecord {
        event_id: EventId::new(clock.mint()),
        program_id: commission.program_id,
        recipient,
        content,
    };
    let to_partner = notification(
        Recipient::Partner(commission.partner_id),
        Content::CommissionDeducted(deduction.clone()),
    );
    let to_advertiser = commission
        .paid_out
        .then(|| notification(Recipient::Advertiser, Content::PaidCommissionDeducted(deduction)));
    let both = std::iter::once(to_partner).chain(to_advertiser);
    // A deduction of zero sends no notification.
    both.filter(move |_| deducted != Cents::ZERO)
}

pub async fn notify(
    connection: &mut PgConnection,
    notifications: &[NotificationRecord],
) -> StorageResult<()> {
    let payloads: Vec<String> = notifications.iter().map(json).collect::<StorageResult<_>>()?;
    outbox::add(connection, Subject::Notifications.noun(), &payloads).await
}
