//! Outbound events for processor events that need review by a person.

use domain::ids::EventId;
use messages::outbound_event::OutboundEvent;
use messages::outbound_event::processor_event::ProcessorEventNeedsReview;
use runtime::clock::Clock;
use sqlx::PgConnection;
use storage::StorageResult;
use storage::outbound::outbound_events;

/// Adds the events in the transaction that set the processor events to review.
pub async fn add_events(
    connection: &mut PgConnection,
    clock: &Clock,
    for_review: Vec<ProcessorEventNeedsReview>,
) -> StorageResult<()> {
    let events = for_review
        .into_iter()
        .map(OutboundEvent::ProcessorEventNeedsReview);
    outbound_events::add_without_customer(connection, clock.now(), || EventId::new(clock.mint()), events)
        .await
}
