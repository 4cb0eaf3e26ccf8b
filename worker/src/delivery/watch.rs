//! Gauges of the delivery role, read when its metrics are scraped.

use std::time::Duration;

use domain::programs::webhook_endpoint::DisabledReason;
use runtime::clock::Clock;
use runtime::metrics::serve::Sources;
use runtime::metrics::{
    DELIVERY_IN_FLIGHT, DELIVERY_IN_FLIGHT_MAX, DELIVERY_OLDEST, ENDPOINTS_DISABLED, SOURCE_UP, to_f64,
};
use sqlx::PgPool;
use storage::StorageResult;
use storage::outbound::{webhook_health, webhook_queue};
use tokio::time::timeout;

use super::in_flight::InFlight;

/// Shorter than the timeout of the metrics page, so that a failed source is reported.
const WITHIN: Duration = Duration::from_secs(2);

pub(super) fn sources(pool: PgPool, clock: Clock, in_flight: InFlight) -> Sources {
    DELIVERY_IN_FLIGHT_MAX.with([]).set(to_f64(in_flight.max));
    Sources::default()
        .pool("main", &pool)
        .and(move || {
            DELIVERY_IN_FLIGHT.with([]).set(to_f64(in_flight.count()));
            std::future::ready(())
        })
        .and(move || show(pool.clone(), clock.clone()))
}

async fn show(pool: PgPool, clock: Clock) {
    let answer = timeout(WITHIN, read(&pool, &clock)).await;
    ENDPOINTS_DISABLED.clear();
    let up = SOURCE_UP.with(["postgres"]);
    let Ok(Ok((oldest_seconds, disabled))) = answer else {
        tracing::warn!("delivery status query failed");
        up.set(0.0);
        DELIVERY_OLDEST.clear();
        return;
    };
    up.set(1.0);
    DELIVERY_OLDEST.with([]).set(oldest_seconds);
    for reason in DisabledReason::ALL {
        ENDPOINTS_DISABLED.with([reason.as_str()]).set(0.0);
    }
    for (reason, endpoints) in disabled {
        let endpoints = usize::try_from(endpoints).unwrap_or(0);
        ENDPOINTS_DISABLED.with([reason.as_str()]).set(to_f64(endpoints));
    }
}

async fn read(pool: &PgPool, clock: &Clock) -> StorageResult<(f64, Vec<(DisabledReason, i64)>)> {
    let mut connection = pool.acquire().await?;
    let now = clock.now();
    let oldest = webhook_queue::oldest_due(&mut connection, now).await?;
    let seconds = oldest.map_or(0.0, |oldest| (now - oldest).as_seconds_f64().max(0.0));
    let disabled = webhook_health::count_disabled(&mut connection).await?;
    Ok((seconds, disabled))
}
