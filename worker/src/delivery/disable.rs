//! Disables endpoints that fail permanently, cancels their deliveries, and notifies the owners.

use std::time::Duration;

use domain::ids::EventId;
use domain::programs::outbound_event::OutboundEventType;
use domain::programs::webhook_endpoint::DisabledReason;
use messages::instant::instant;
use messages::outbound_event::OutboundEvent;
use messages::outbound_event::webhook_endpoint::EndpointDisabled;
use runtime::clock::Clock;
use runtime::lifecycle::Lifecycle;
use runtime::rounds::repeat;
use serde_json::json;
use sqlx::{PgConnection, PgPool};
use storage::operations::notifications::{self, NewNotification};
use storage::outbound::outbound_events::{self, NewOutboundEvent};
use storage::outbound::webhook_health::{self, DisabledEndpoint};
use storage::outbound::webhook_queue;
use storage::program::programs;
use storage::{StorageError, StorageResult};
use url::Url;

const EVERY: Duration = Duration::from_secs(2);
/// Deliveries per statement.
const BATCH: i64 = 1_000;

/// Runs until shutdown. Every delivery process runs it; a second one finds nothing to do.
pub(super) async fn run(pool: PgPool, clock: Clock, lifecycle: Lifecycle) {
    let disables = || disable_failing(&pool, &clock);
    let cancels = || cancel(&pool, &clock, &lifecycle);
    tokio::join!(
        repeat("disabling endpoints", EVERY, &lifecycle, disables),
        repeat("cancelling deliveries", EVERY, &lifecycle, cancels)
    );
}

async fn disable_failing(pool: &PgPool, clock: &Clock) -> StorageResult<()> {
    let mut transaction = pool.begin().await?;
    let disabled = webhook_health::disable_failing(&mut transaction, clock.now()).await?;
    announce(&mut transaction, clock, &disabled).await?;
    transaction.commit().await.map_err(StorageError::from)
}

async fn cancel(pool: &PgPool, clock: &Clock, lifecycle: &Lifecycle) -> StorageResult<()> {
    while !lifecycle.soft().is_cancelled() {
        let mut connection = pool.acquire().await?;
        let cancelled = webhook_queue::cancel_of_disabled(&mut connection, clock.now(), BATCH).await?;
        if cancelled > 0 {
            tracing::info!(
                deliveries = cancelled,
                "cancelled deliveries of disabled endpoints"
            );
        }
        if cancelled < BATCH.unsigned_abs() {
            break;
        }
    }
    Ok(())
}

/// Notifies the owners in the transaction that disables their endpoints: by a notification, and by events for
/// other endpoints that want them.
pub(super) async fn announce(
    connection: &mut PgConnection,
    clock: &Clock,
    disabled: &[DisabledEndpoint],
) -> StorageResult<()> {
    if disabled.is_empty() {
        return Ok(());
    }
    for endpoint in disabled {
        let (endpoint_id, program_id) = (endpoint.endpoint_id, endpoint.program_id);
        let reason = endpoint.reason.as_str();
        tracing::warn!(%endpoint_id, %program_id, reason, "webhook endpoint disabled");
    }
    let new: Vec<NewNotification> = disabled
        .iter()
        .map(|endpoint| notification(clock, endpoint))
        .collect();
    notifications::add(connection, &new).await?;
    let ids: Vec<i64> = disabled.iter().map(|one| one.program_id.get()).collect();
    let programs = programs::find(connection, &ids).await?;
    let wanting = disabled.iter().filter(|one| {
        programs.get(&one.program_id).is_some_and(|program| {
            program
                .wanted_events
                .contains(OutboundEventType::EndpointDisabled)
        })
    });
    let events = wanting
        .map(|one| event(clock, one))
        .collect::<StorageResult<Vec<_>>>()?;
    outbound_events::add(connection, &events).await
}

fn notification(clock: &Clock, endpoint: &DisabledEndpoint) -> NewNotification {
    NewNotification {
        event_id: clock.mint(),
        program_id: endpoint.program_id.get(),
        partner_id: None,
        kind: "webhook_endpoint_disabled",
        message: format!(
            "Webhook endpoint {} at {} was disabled: {}. Events are no longer sent to it.",
            endpoint.endpoint_id,
            host(&endpoint.url),
            why(endpoint)
        ),
        details: json!({
            "endpoint_id": endpoint.endpoint_id,
            "url": endpoint.url,
            "reason": endpoint.reason.as_str(),
            "failing_since": endpoint.failing_since.map(instant),
        }),
    }
}

fn why(endpoint: &DisabledEndpoint) -> &'static str {
    match endpoint.reason {
        DisabledReason::Gone => "it answered 410 Gone",
        DisabledReason::Failing => "every attempt of the last five days failed",
        DisabledReason::ByHand => "somebody disabled it",
    }
}

/// The host of an endpoint, without path and query, which may contain secrets.
pub(super) fn host(url: &str) -> String {
    let parsed = Url::parse(url).ok();
    let host = parsed.as_ref().and_then(|url| url.host_str());
    host.unwrap_or("an unknown host").to_owned()
}

fn event(clock: &Clock, endpoint: &DisabledEndpoint) -> StorageResult<NewOutboundEvent> {
    let event = OutboundEvent::EndpointDisabled(EndpointDisabled {
        program_id: endpoint.program_id.get(),
        endpoint_id: endpoint.endpoint_id.get(),
        url: endpoint.url.clone(),
        reason: endpoint.reason.as_str().to_owned(),
        failing_since: endpoint.failing_since,
    });
    NewOutboundEvent::new(EventId::new(clock.mint()), None, endpoint.disabled_at, &event)
}
