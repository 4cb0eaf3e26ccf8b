//! Outbound events of a payout. A payout has a single state, because the advertiser pays elsewhere and only
//! marks commissions as paid here. So no events say that a payout settles or fails.

use std::collections::BTreeMap;

use domain::earnings::payout::Paid;
use domain::ids::{CustomerId, EventId, PayoutId};
use domain::programs::outbound_event::{OutboundEventType, WantedEvents};
use domain::text::Text;
use messages::outbound_event::OutboundEvent;
use messages::outbound_event::commission::CommissionPaid;
use messages::outbound_event::payout::PayoutEvent;
use runtime::clock::Clock;
use sqlx::PgConnection;
use storage::StorageResult;
use storage::money::payouts::LockedCommission;
use storage::outbound::outbound_commissions;
use storage::outbound::outbound_events::{self, NewOutboundEvent};

use super::{PayoutOrder, Settled};

/// Adds an event for the payout, then one for each of its commissions.
pub async fn add_events(
    connection: &mut PgConnection,
    order: &PayoutOrder,
    clock: &Clock,
    payout_id: PayoutId,
    settled: &Settled,
) -> StorageResult<()> {
    let Settled { batch, paid, .. } = settled;
    let Some(first) = batch.first() else {
        return Ok(());
    };
    let wanted = first.wanted_events;
    let new = |customer_id, event: &OutboundEvent| {
        NewOutboundEvent::new(EventId::new(clock.mint()), customer_id, order.now, event)
    };
    let payout = PayoutEvent {
        program_id: order.program_id.get(),
        payout_id: payout_id.get(),
        amount_cents: settled.amount().get(),
        currency: first.currency.as_str().to_owned(),
        commission_count: i64::try_from(batch.len()).unwrap_or(i64::MAX),
        reference: order.reference.as_ref().map(Text::to_string),
    };
    let mut events = Vec::new();
    if wanted.contains(OutboundEventType::PayoutCreated) {
        events.push(new(None, &OutboundEvent::PayoutCreated(payout))?);
    }
    for (customer_id, event) in commissions(connection, wanted, payout_id, batch, paid).await? {
        events.push(new(customer_id, &event)?);
    }
    outbound_events::add(connection, &events).await
}

async fn commissions(
    connection: &mut PgConnection,
    wanted: WantedEvents,
    payout_id: PayoutId,
    batch: &[LockedCommission],
    paid: &[Paid],
) -> StorageResult<Vec<(Option<CustomerId>, OutboundEvent)>> {
    if !wanted.contains(OutboundEventType::CommissionPaid) {
        return Ok(Vec::new());
    }
    let parts: BTreeMap<i64, &Paid> = batch
        .iter()
        .map(|commission| commission.commission_id.get())
        .zip(paid)
        .collect();
    let ids: Vec<i64> = parts.keys().copied().collect();
    let found = outbound_commissions::find(connection, &ids).await?;
    Ok(found
        .into_iter()
        .filter_map(|paid| {
            let part = parts.get(&paid.commission.commission_id)?;
            let event = OutboundEvent::CommissionPaid(CommissionPaid {
                payout_id: payout_id.get(),
                paid_cents: part.deducted.applied.get(),
                withheld_cents: part.deducted.shortfall.get(),
                commission: paid.commission,
            });
            Some((paid.customer_id, event))
        })
        .collect())
}
