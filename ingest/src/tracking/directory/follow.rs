//! Keeps the directory current: listens for notifications, catches up, and confirms reads.

use std::time::Duration;

use anyhow::Context;
use runtime::clock::Clock;
use runtime::retry::{RetryPolicy, retry};
use sqlx::postgres::{PgListener, PgNotification};
use sqlx::{Acquire, Connection};
use storage::program::directory::Selection;
use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, MissedTickBehavior};

use super::cache::Cache;
use super::entries::LIVE_FOR;

const CHANNEL: &str = "directory";
const CATCH_UP_EVERY: Duration = Duration::from_secs(5);
const CONFIRM_EVERY: Duration = Duration::from_millis(250);
/// The most requests for a confirmation in one batch.
pub const CONFIRMED_TOGETHER: usize = 64;
const RECONNECT: RetryPolicy =
    RetryPolicy::until_shutdown(Duration::from_millis(100), Duration::from_secs(2));

/// Callers that wait until everything committed before their call has been read.
pub struct Waiting {
    requests: mpsc::Receiver<oneshot::Sender<()>>,
    taken: Vec<oneshot::Sender<()>>,
}

impl Waiting {
    pub const fn new(requests: mpsc::Receiver<oneshot::Sender<()>>) -> Self {
        Self {
            requests,
            taken: Vec::new(),
        }
    }
}

/// Runs until it is cancelled.
pub async fn follow(cache: Cache, clock: Clock, mut waiting: Waiting) {
    loop {
        let connected = retry(
            &RECONNECT,
            || connect(&cache),
            |error| {
                tracing::warn!(error = format!("{error:#}"), "directory: listen failed, retrying");
                true
            },
        );
        // The retry policy never gives up, so no error arrives here.
        let Ok(listener) = connected.await else { continue };
        if let Err(error) = listen(listener, &cache, &clock, &mut waiting).await {
            cache.write().live_until = None;
            waiting.taken.clear();
            tracing::warn!(
                error = format!("{error:#}"),
                "directory: listener lost, reconnecting"
            );
        }
    }
}

/// A listener that has missed no change: the catch-up runs after it has begun to listen.
async fn connect(cache: &Cache) -> anyhow::Result<PgListener> {
    let mut listener = PgListener::connect_with(&cache.pool).await?;
    listener.listen(CHANNEL).await?;
    cache.catch_up().await?;
    Ok(listener)
}

/// Returns when the connection is lost.
async fn listen(
    mut listener: PgListener,
    cache: &Cache,
    clock: &Clock,
    waiting: &mut Waiting,
) -> anyhow::Result<()> {
    let mut catch_ups = tokio::time::interval_at(Instant::now() + CATCH_UP_EVERY, CATCH_UP_EVERY);
    let mut pings = tokio::time::interval(CONFIRM_EVERY);
    pings.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        let first = tokio::select! {
            _ = catch_ups.tick() => {
                cache.catch_up().await?;
                cache.note_uses(clock.now()).await?;
                continue;
            }
            _ = pings.tick() => None,
            _ = waiting.requests.recv_many(&mut waiting.taken, CONFIRMED_TOGETHER), if !waiting.requests.is_closed() => None,
            notification = listener.try_recv() => Some(notification?.context("connection lost")?),
        };
        confirm(&mut listener, first, cache).await?;
        for confirmed in waiting.taken.drain(..) {
            // The caller may have stopped waiting.
            let _ = confirmed.send(());
        }
    }
}

/// Re-reads all rows named by notifications that were committed before this call. `first` is one of those
/// notifications.
async fn confirm(
    listener: &mut PgListener,
    first: Option<PgNotification>,
    cache: &Cache,
) -> anyhow::Result<()> {
    let started = Instant::now();
    let ping = async { listener.acquire().await?.ping().await };
    tokio::time::timeout(LIVE_FOR, ping)
        .await
        .context("ping timed out")??;
    let buffered = std::iter::from_fn(|| listener.next_buffered());
    let (mut programs, mut links) = (Vec::new(), Vec::new());
    for notification in first.into_iter().chain(buffered) {
        match notification.payload().split_once(':') {
            Some(("program", id)) => programs.push(id.parse()?),
            Some(("referral_link", id)) => links.push(id.parse()?),
            _ => tracing::warn!(
                payload = notification.payload(),
                "directory: unknown notification"
            ),
        }
    }
    if !programs.is_empty() {
        cache.refresh_programs(&Selection::Ids(programs)).await?;
    }
    if !links.is_empty() {
        cache.refresh_links(&Selection::Ids(links)).await?;
    }
    cache.write().confirm(started);
    Ok(())
}
