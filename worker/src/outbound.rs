//! The outbound events of a batch. They are collected while the batch is written, and written last, by one
//! statement that keeps their order.

use chrono::{DateTime, Utc};
use domain::ids::{CustomerId, EventId};
use messages::outbound_event::OutboundEvent;
use messages::outbound_event::processor_event::ProcessorEventNeedsReview;
use runtime::clock::Clock;
use sqlx::PgConnection;
use storage::StorageResult;
use storage::outbound::outbound_events::{self, NewOutboundEvent};

/// The events of one transaction. Programs that want no events get none: callers check
/// [`wanted`](domain::programs::outbound_event::WantedEvents) before they add any.
#[derive(Debug)]
pub struct OutboundEvents<'a> {
    clock: &'a Clock,
    events: Vec<NewOutboundEvent>,
}

impl<'a> OutboundEvents<'a> {
    pub const fn new(clock: &'a Clock) -> Self {
        Self {
            clock,
            events: Vec::new(),
        }
    }

    pub fn add(
        &mut self,
        customer_id: Option<CustomerId>,
        occurred_at: DateTime<Utc>,
        event: &OutboundEvent,
    ) -> StorageResult<()> {
        let event_id = EventId::new(self.clock.mint());
        let new = NewOutboundEvent::new(event_id, customer_id, occurred_at, event)?;
        self.events.push(new);
        Ok(())
    }

    pub fn add_for_review(&mut self, events: Vec<ProcessorEventNeedsReview>) -> StorageResult<()> {
        for event in events {
            self.add(
                None,
                self.clock.now(),
                &OutboundEvent::ProcessorEventNeedsReview(event),
            )?;
        }
        Ok(())
    }

    /// Writes the events. The transaction must still hold the locks of the rows that they describe.
    pub async fn write(self, connection: &mut PgConnection) -> StorageResult<()> {
        outbound_events::add(connection, &self.events).await
    }
}
