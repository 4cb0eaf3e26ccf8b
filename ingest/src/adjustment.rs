//! Changing commissions by hand: all of a list or none, in one transaction.
//!
//! Phases: **lock** the commissions and their balances, both ascending → **judge** each, on the balance that those before it
//! leave → **write** commissions, ledger, balances and what their partners are told.

use common::domain::adjustment::{Adjusted, adjust};
use common::domain::ids::EventId;
use common::messages::notification::{Adjustment, Content, NotificationRecord, Recipient};
use common::messages::subject::Subject;
use common::runtime::clock::Clock;
use common::storage::adjustments::{self, NewAdjustment};
use common::storage::ledger::lock_balances;
use common::storage::outbox;
use common::storage::payouts::{self, LockedCommission};
use sqlx::PgConnection;

use crate::error::ApiError;
use crate::payout::{not_found, refused_commissions};

/// The commissions changed, and how; those that cannot be are named in the refusal.
pub async fn change(
    connection: &mut PgConnection,
    ids: &[i64],
    new: &NewAdjustment<'_>,
    clock: &Clock,
) -> Result<Vec<(LockedCommission, Adjusted)>, ApiError> {
    let locked = payouts::lock_listed(connection, new.program_id, ids).await?;
    let memberships: Vec<i64> = locked
        .iter()
        .map(|commission| commission.partner_program_id.get())
        .collect();
    let mut balances = lock_balances(connection, &memberships).await?;
    let mut reasons = not_found(
        ids,
        locked.iter().map(|commission| commission.commission_id.get()),
    );
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
                reasons.insert(commission.commission_id.get(), reason.to_string());
            }
        }
    }
    if !reasons.is_empty() {
        return Err(refused_commissions(NOT_CHANGEABLE, &reasons));
    }
    adjustments::save(connection, new, &adjusted).await?;
    notify(connection, new, &adjusted, clock).await?;
    Ok(adjusted)
}

async fn notify(
    connection: &mut PgConnection,
    new: &NewAdjustment<'_>,
    adjusted: &[(LockedCommission, Adjusted)],
    clock: &Clock,
) -> Result<(), ApiError> {
    let record = |(commission, adjusted): &(LockedCommission, Adjusted)| NotificationRecord {
        event_id: EventId::new(clock.mint()),
        program_id: new.program_id,
        recipient: Recipient::Partner(commission.partner_id),
        content: Content::CommissionAdjusted(Adjustment {
            sale_id: commission.sale_id,
            commission_id: commission.commission_id,
            status: adjusted.status,
            by: adjusted.by,
            currency: commission.currency,
            reason: new.reason.to_owned(),
        }),
    };
    let payloads = adjusted
        .iter()
        .map(|one| serde_json::to_string(&record(one)))
        .collect::<Result<Vec<_>, _>>()
        .map_err(ApiError::unexpected)?;
    outbox::add(connection, Subject::Notifications.noun(), &payloads).await?;
    Ok(())
}

pub const NOT_CHANGEABLE: &str = "Some commissions cannot be changed; none was";
