//! Commissions in the form that outbound events report, read in the transaction that changes them.

use chrono::{DateTime, Utc};
use sqlx::PgConnection;

use crate::error::StorageResult;
use crate::outbound::outbound_events::{self, NewOutboundEvent};
use domain::ids::{CustomerId, EventId};
use messages::outbound_event::OutboundEvent;
use messages::outbound_event::commission::CommissionEvent;

/// A commission as it is now, and the customer of its sale.
#[derive(Debug)]
pub struct OutboundCommission {
    pub customer_id: Option<CustomerId>,
    pub commission: CommissionEvent,
}

/// Commissions by id, ascending. An erased customer has no names.
pub async fn find(connection: &mut PgConnection, ids: &[i64]) -> StorageResult<Vec<OutboundCommission>> {
    if ids.is_empty() {
        return Ok(Vec::new());
    }
    Ok(sqlx::query!(
        r#"SELECT c.id, c.program_id, s.id AS "sale_id?", s.processor_event_id AS "transaction_id?", s.customer_id,
                  u.customer_key, u.click_id AS "click_id?", c.partner_id, c.partner_program_id, l.short_code AS "code?",
                  c.amount_cents, c.deducted_cents, c.currency, c.status, c.hold_until
           FROM commissions c
           LEFT JOIN sale_events s ON s.id = coalesce(c.sale_id, c.for_sale_id)
           LEFT JOIN customers u ON u.id = s.customer_id AND u.erased_at IS NULL
           LEFT JOIN referral_links l ON l.id = c.referral_link_id
           WHERE c.id = ANY($1) ORDER BY c.id"#,
        ids,
    )
    .map(|row| OutboundCommission {
        customer_id: row.customer_id.map(CustomerId::new),
        commission: CommissionEvent {
            program_id: row.program_id,
            commission_id: row.id,
            sale_id: row.sale_id,
            transaction_id: row.transaction_id,
            customer_key: row.customer_key,
            click_id: row.click_id,
            partner_id: row.partner_id,
            partner_program_id: row.partner_program_id,
            referral_link_code: row.code,
            amount_cents: row.amount_cents,
            deducted_cents: row.deducted_cents,
            currency: row.currency,
            status: row.status,
            hold_until: row.hold_until,
        },
    })
    .fetch_all(connection)
    .await?)
}

pub async fn add_events(
    connection: &mut PgConnection,
    ids: &[i64],
    occurred_at: DateTime<Utc>,
    new_event_id: impl Fn() -> EventId,
    event: impl Fn(CommissionEvent) -> OutboundEvent,
) -> StorageResult<()> {
    let events = find(connection, ids)
        .await?
        .into_iter()
        .map(|found| {
            let event = event(found.commission);
            NewOutboundEvent::new(new_event_id(), found.customer_id, occurred_at, &event)
        })
        .collect::<StorageResult<Vec<_>>>()?;
    outbound_events::add(connection, &events).await
}
