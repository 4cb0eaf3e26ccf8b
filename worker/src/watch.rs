//! Gauges of the whole pipeline: rows that wait in PostgreSQL and messages that wait in the streams. Every
//! worker reads them when its metrics are scraped.

mod server;

use std::time::Duration;

use anyhow::Context as _;
use async_nats::jetstream::Context;
use bus::topology::Topology;
use chrono::TimeDelta;
use futures::future::join_all;
use messages::subject::Subject;
use runtime::clock::Clock;
use runtime::metrics::serve::Sources;
use runtime::metrics::{
    CLAIMS_DEAD, CLAIMS_OPEN, CLAIMS_OPEN_OLDEST, CONSUMER_OLDEST, CONSUMER_PENDING, CONSUMER_REDELIVERED,
    CONSUMER_UNACKNOWLEDGED, DEAD_LETTERS, EMAILS_OLDEST, EMAILS_WAITING, OUTBOX_OLDEST, OUTBOX_UNSENT,
    PROCESSOR_EVENTS, SOURCE_UP, STREAM_BYTES, STREAM_BYTES_MAX, UPKEEP_OVERDUE, VERIFICATION_DIFFERENCES,
    VERIFICATION_OLDEST,
};
use sqlx::PgPool;
use storage::StorageResult;
use storage::operations::pipeline_status::{self, Backlog, Waiting};
use storage::operations::verify::continuous::{self, Status};
use storage::outbound::emails::{self, WaitingEmails};
use tokio::time::timeout;

use crate::upkeep::{PROCESSOR_EVENTS_KEPT, REFUSALS_KEPT};

/// Shorter than the timeout of the metrics page, so that a failed source is reported.
const WITHIN: Duration = Duration::from_secs(2);

/// These states are shown as zero when there are no events.
const UNFINISHED: [&str; 4] = ["open", "parked", "review", "stuck"];

pub fn sources(pool: PgPool, jetstream: Context, topology: Topology, clock: Clock) -> Sources {
    let prefix = topology.prefix.clone();
    Sources::default()
        .pool("main", &pool)
        .and({
            let pool = pool.clone();
            move || show_backlog(pool.clone(), prefix.clone())
        })
        .and({
            let pool = pool.clone();
            move || server::show(pool.clone())
        })
        .and({
            let (pool, clock) = (pool.clone(), clock.clone());
            move || show_emails(pool.clone(), clock.clone())
        })
        .and(move || show_verification(pool.clone()))
        .and(move || show_streams(jetstream.clone(), topology.clone(), clock.clone()))
}

async fn show_backlog(pool: PgPool, prefix: String) {
    let answer = timeout(WITHIN, read(&pool)).await;
    PROCESSOR_EVENTS.clear();
    UPKEEP_OVERDUE.clear();
    DEAD_LETTERS.clear();
    let up = SOURCE_UP.with(["postgres"]);
    let Ok(Ok(backlog)) = answer else {
        tracing::warn!("pipeline status query failed");
        up.set(0.0);
        for metric in [
            &CLAIMS_OPEN,
            &CLAIMS_OPEN_OLDEST,
            &CLAIMS_DEAD,
            &OUTBOX_UNSENT,
            &OUTBOX_OLDEST,
        ] {
            metric.clear();
        }
        return;
    };
    up.set(1.0);
    let seconds = |waiting: Waiting| {
        waiting
            .oldest
            .map_or(0.0, |oldest| (backlog.now - oldest).as_seconds_f64())
    };
    CLAIMS_OPEN.with([]).set(rows(backlog.open_claims.count));
    CLAIMS_OPEN_OLDEST.with([]).set(seconds(backlog.open_claims));
    CLAIMS_DEAD.with([]).set(rows(backlog.dead_claims));
    OUTBOX_UNSENT.with([]).set(rows(backlog.outbox.count));
    OUTBOX_OLDEST.with([]).set(seconds(backlog.outbox));
    let oldest = backlog.oldest;
    for (what, since, kept) in [
        ("approvals", oldest.held_until, TimeDelta::zero()),
        ("refused_events", oldest.refused_at, REFUSALS_KEPT),
        ("processor_events", oldest.received_at, PROCESSOR_EVENTS_KEPT),
    ] {
        let overdue = since.map_or(0.0, |since| (backlog.now - since - kept).as_seconds_f64());
        UPKEEP_OVERDUE.with([what]).set(overdue.max(0.0));
    }
    for subject in Subject::ALL {
        DEAD_LETTERS.with([subject.noun()]).set(0.0);
    }
    for (subject, letters) in &backlog.dead_letters {
        let noun = Subject::of_wire(subject, &prefix).map_or("other", Subject::noun);
        DEAD_LETTERS.with([noun]).inc_by(rows(*letters));
    }
    for state in UNFINISHED {
        PROCESSOR_EVENTS.with([state]).set(0.0);
    }
    for (state, events) in &backlog.processor_events {
        PROCESSOR_EVENTS.with([state]).set(rows(*events));
    }
}

async fn show_emails(pool: PgPool, clock: Clock) {
    let read = async { emails::waiting(&mut *pool.acquire().await?).await };
    let answer: Result<StorageResult<WaitingEmails>, _> = timeout(WITHIN, read).await;
    EMAILS_WAITING.clear();
    EMAILS_OLDEST.clear();
    // Another gauge shows that PostgreSQL does not answer.
    let Ok(Ok(emails)) = answer else { return };
    let age = emails
        .oldest
        .map_or(0.0, |oldest| (clock.now() - oldest).as_seconds_f64());
    EMAILS_WAITING.with([]).set(rows(emails.waiting));
    EMAILS_OLDEST.with([]).set(age.max(0.0));
}

async fn show_verification(pool: PgPool) {
    let read = async { continuous::status(&mut *pool.acquire().await?).await };
    let answer: Result<StorageResult<Status>, _> = timeout(WITHIN, read).await;
    VERIFICATION_OLDEST.clear();
    VERIFICATION_DIFFERENCES.clear();
    // Another gauge shows that PostgreSQL does not answer.
    let Ok(Ok(status)) = answer else { return };
    if let Some(oldest) = status.oldest {
        VERIFICATION_OLDEST
            .with([])
            .set((status.now - oldest).as_seconds_f64());
        VERIFICATION_DIFFERENCES.with([]).set(rows(status.differences));
    }
}

async fn read(pool: &PgPool) -> StorageResult<Backlog> {
    pipeline_status::backlog(&mut *pool.acquire().await?).await
}

async fn show_streams(jetstream: Context, topology: Topology, clock: Clock) {
    CONSUMER_OLDEST.clear();
    let looks =
        Subject::ALL.map(|subject| timeout(WITHIN, show_stream(&jetstream, &topology, &clock, subject)));
    let shown = join_all(looks).await;
    let all = shown.iter().all(|shown| matches!(shown, Ok(Ok(()))));
    SOURCE_UP.with(["jetstream"]).set(if all { 1.0 } else { 0.0 });
    if !all {
        tracing::warn!("stream status query failed");
        for metric in [
            &CONSUMER_PENDING,
            &CONSUMER_UNACKNOWLEDGED,
            &CONSUMER_REDELIVERED,
            &STREAM_BYTES,
            &STREAM_BYTES_MAX,
        ] {
            metric.clear();
        }
    }
}

#[expect(
    clippy::cast_precision_loss,
    reason = "of a quadrillion messages the last one does not matter"
)]
async fn show_stream(
    jetstream: &Context,
    topology: &Topology,
    clock: &Clock,
    subject: Subject,
) -> anyhow::Result<()> {
    let noun = subject.noun();
    let stream = jetstream
        .get_stream(topology.stream_name(subject))
        .await
        .context("no stream")?;
    let state = stream
        .consumer_info(subject.consumer_name())
        .await
        .context("no consumer")?;
    STREAM_BYTES
        .with([noun])
        .set(stream.cached_info().state.bytes as f64);
    STREAM_BYTES_MAX
        .with([noun])
        .set(topology.max_bytes(subject) as f64);
    CONSUMER_PENDING.with([noun]).set(state.num_pending as f64);
    CONSUMER_UNACKNOWLEDGED
        .with([noun])
        .set(state.num_ack_pending as f64);
    CONSUMER_REDELIVERED
        .with([noun])
        .set(state.num_redelivered as f64);
    // The message may be settled between the two requests; the next scrape then shows another one.
    if let Ok(oldest) = bus::backlog::Backlog::of(jetstream.clone(), topology, subject)
        .oldest()
        .await
    {
        let age = oldest.map_or(0.0, |oldest| (clock.now() - oldest).as_seconds_f64());
        CONSUMER_OLDEST.with([noun]).set(age.max(0.0));
    }
    Ok(())
}

#[expect(
    clippy::cast_precision_loss,
    reason = "of a quadrillion rows the last one does not matter"
)]
const fn rows(count: i64) -> f64 {
    count as f64
}
