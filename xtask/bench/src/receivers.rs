//! Receivers of webhooks: a port each, as endpoints of different owners have different hosts.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use anyhow::Result;
use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::StatusCode;
use axum::routing::post;
use chrono::{DateTime, Utc};
use hdrhistogram::Histogram;
use runtime::clock::Clock;
use serde::Deserialize;
use tokio::net::TcpListener;
use tokio::task::JoinSet;

use super::outcome::{empty_histogram, per_second};

/// Dropped, its receivers are gone.
pub(super) struct Receivers {
    pub(super) addresses: Vec<SocketAddr>,
    arrivals: Arc<Arrivals>,
    _tasks: JoinSet<()>,
}

struct Arrivals {
    clock: Clock,
    seen: Mutex<Seen>,
}

/// What arrived.
#[derive(Debug, Clone)]
pub(super) struct Seen {
    pub(super) count: u64,
    /// Of the first one and the last one.
    times: Option<(Instant, Instant)>,
    /// Microseconds from the time that an event says it happened at.
    pub(super) delays: Histogram<u64>,
}

#[derive(Deserialize)]
struct Event {
    timestamp: DateTime<Utc>,
}

impl Receivers {
    /// All of them answer 200 at once. In a Tokio runtime.
    pub(super) async fn start(count: usize) -> Result<Self> {
        let arrivals = Arc::new(Arrivals {
            clock: Clock::system(),
            seen: Mutex::new(Seen::nothing()),
        });
        let router = Router::new()
            .route("/", post(receive))
            .with_state(Arc::clone(&arrivals));
        let (mut addresses, mut tasks) = (Vec::with_capacity(count), JoinSet::new());
        for _ in 0..count {
            let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
            addresses.push(listener.local_addr()?);
            let router = router.clone();
            tasks.spawn(async move {
                // It never returns an error.
                let _ = axum::serve(listener, router).await;
            });
        }
        Ok(Self {
            addresses,
            arrivals,
            _tasks: tasks,
        })
    }

    /// What arrived since this was asked last.
    pub(super) fn take(&self) -> Seen {
        std::mem::replace(&mut *self.arrivals.lock(), Seen::nothing())
    }

    pub(super) fn count(&self) -> u64 {
        self.arrivals.lock().count
    }
}

impl Arrivals {
    fn lock(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Seen {
    fn nothing() -> Self {
        Self {
            count: 0,
            times: None,
            delays: empty_histogram(),
        }
    }

    /// Arrivals a second, from the first to the last one.
    pub(super) fn rate(&self) -> f64 {
        self.times
            .map_or(0.0, |(first, last)| per_second(self.count, last - first))
    }
}

async fn receive(State(arrivals): State<Arc<Arrivals>>, body: Bytes) -> StatusCode {
    let now = arrivals.clock.now();
    let Ok(event) = serde_json::from_slice::<Event>(&body) else {
        return StatusCode::BAD_REQUEST;
    };
    let delay = (now - event.timestamp).to_std().unwrap_or(Duration::ZERO);
    let mut seen = arrivals.lock();
    seen.count += 1;
    seen.delays
        .saturating_record(u64::try_from(delay.as_micros()).unwrap_or(u64::MAX).max(1));
    let at = Instant::now();
    let first = seen.times.map_or(at, |(first, _)| first);
    seen.times = Some((first, at));
    StatusCode::OK
}
