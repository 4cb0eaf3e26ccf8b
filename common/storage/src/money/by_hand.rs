//! Changes of commissions by an advertiser or an operator, in the caller's transaction. A list is changed as
//! a whole or not at all, and partners are notified.
//!
//! Phases of a change: **lock** the commissions and their balances, both ascending → **judge** each
//! commission, on the balance that those before it leave → **write** all rows and notifications.

use std::collections::BTreeMap;

use sqlx::PgConnection;

use crate::error::StorageResult;
use crate::money::adjustments::{self, AddedCommission, NewAdjustment};
use crate::money::ledger::lock_balances;
use crate::money::payouts::{self, LockedCommission, not_found};
use crate::operations::outbox;
use crate::outbound::outbound_commissions;
use domain::earnings::adjustment::{Adjusted, Change, adjust};
use domain::earnings::commission::CommissionStatus;
use domain::ids::{CommissionId, EventId, PartnerId, ProgramId};
use domain::money::Cents;
use domain::programs::outbound_event::OutboundEventType;
use messages::notification::{Adjustment, Content, NotificationRecord, Recipient};
use messages::outbound_event::OutboundEvent;
use messages::outbound_event::commission::{CommissionChanged, CommissionEvent};
use messages::subject::Subject;

/// Why commissions of a list cannot be changed, by commission id. No commission of the list was changed.
pub type Refused = BTreeMap<i64, String>;

pub async fn change(
    connection: &mut PgConnection,
    ids: &[i64],
    new: &NewAdjustment<'_>,
    new_event_id: impl Fn() -> EventId,
) -> StorageResult<Result<Vec<(LockedCommission, Adjusted)>, Refused>> {
    let locked = payouts::lock_listed(connection, new.program_id, ids).await?;
    columns!(commission in locked => memberships: i64 = commission.partner_program_id.get());
    let mut balances = lock_balances(connection, &memberships).await?;
    let mut refused = not_found(ids, &locked);
    let mut adjusted = Vec::with_capacity(locked.len());
    for commission in locked {
        let account = (
            commission.partner_program_id,
            commission.currency.as_str().to_owned(),
        );
        let balance = balances.entry(account).or_default();
        match adjust(&commission.state, new.change, *balance) {
            Ok(one) => {
                *balance = balance.saturating_add(one.moved());
                adjusted.push((commission, one));
            }
            Err(reason) => {
                refused.insert(commission.commission_id.get(), reason.to_string());
            }
        }
    }
    if !refused.is_empty() {
        return Ok(Err(refused));
    }
    adjustments::save(connection, new, &adjusted).await?;
    let records: Vec<_> = adjusted
        .iter()
        .map(|(commission, adjusted)| {
            let content = Content::CommissionAdjusted(Adjustment {
                sale_id: commission.sale_id,
                commission_id: commission.commission_id,
                status: adjusted.status,
                by: adjusted.by,
                currency: commission.currency,
                reason: new.reason.to_owned(),
            });
            to_partner(new.program_id, commission.partner_id, content, new_event_id())
        })
        .collect();
    notify(connection, &records).await?;
    add_events(connection, new, &adjusted, new_event_id).await?;
    Ok(Ok(adjusted))
}

async fn add_events(
    connection: &mut PgConnection,
    new: &NewAdjustment<'_>,
    adjusted: &[(LockedCommission, Adjusted)],
    new_event_id: impl Fn() -> EventId,
) -> StorageResult<()> {
    let (event_type, event): (_, fn(CommissionChanged) -> OutboundEvent) = match new.change {
        Change::Reject => (
            OutboundEventType::CommissionRejected,
            OutboundEvent::CommissionRejected,
        ),
        Change::By(_) => (
            OutboundEventType::CommissionAdjusted,
            OutboundEvent::CommissionAdjusted,
        ),
    };
    let changed_by: BTreeMap<i64, i64> = adjusted
        .iter()
        .filter(|(commission, _)| commission.wanted_events.contains(event_type))
        .map(|(commission, adjusted)| (commission.commission_id.get(), adjusted.by.get()))
        .collect();
    let ids: Vec<i64> = changed_by.keys().copied().collect();
    let changed = |commission: CommissionEvent| {
        event(CommissionChanged {
            changed_by_cents: changed_by
                .get(&commission.commission_id)
                .copied()
                .unwrap_or_default(),
            reason: new.reason.to_owned(),
            commission,
        })
    };
    outbound_commissions::add_events(connection, &ids, new.now, new_event_id, changed).await
}

pub async fn add(
    connection: &mut PgConnection,
    new: &AddedCommission<'_>,
    new_event_id: impl Fn() -> EventId,
) -> StorageResult<CommissionId> {
    let (commission_id, wanted) = adjustments::add(connection, new).await?;
    let content = Content::CommissionAdded(Adjustment {
        sale_id: None,
        commission_id,
        status: CommissionStatus::Approved,
        by: Cents::from(new.amount),
        currency: new.currency,
        reason: new.note.to_owned(),
    });
    let record = to_partner(new.program_id, new.partner_id, content, new_event_id());
    notify(connection, &[record]).await?;
    if wanted.contains(OutboundEventType::CommissionCreated) {
        let (ids, event) = ([commission_id.get()], OutboundEvent::CommissionCreated);
        outbound_commissions::add_events(connection, &ids, new.now, new_event_id, event).await?;
    }
    Ok(commission_id)
}

fn to_partner(
    program_id: ProgramId,
    partner_id: PartnerId,
    content: Content,
    event_id: EventId,
) -> NotificationRecord {
    NotificationRecord {
        event_id,
        program_id,
        recipient: Recipient::Partner(partner_id),
        content,
    }
}

async fn notify(connection: &mut PgConnection, records: &[NotificationRecord]) -> StorageResult<()> {
    let payloads = records
        .iter()
        .map(serde_json::to_string)
        .collect::<Result<Vec<_>, _>>()
        .map_err(|error| sqlx::Error::Encode(error.into()))?;
    outbox::add(connection, Subject::Notifications.noun(), &payloads).await
}
