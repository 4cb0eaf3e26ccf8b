//! Load: many connections that share one timetable.
//!
//! With a rate, requests are due at fixed times whatever becomes of those before them. One that leaves late because every
//! connection is busy is measured from when it was due, so that a stalled service cannot hide behind requests that
//! were never sent. One that was waited for is measured from when it left: the timer's own slack is not the service's.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use anyhow::Result;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until};

use super::connection::Connection;
use super::latency::{Sample, Samples};

/// The bytes of a request by its number.
pub(super) type Requests = Arc<dyn Fn(u64) -> Vec<u8> + Send + Sync>;

#[derive(Clone)]
pub(super) struct Load {
    pub(super) address: SocketAddr,
    pub(super) requests: Requests,
    /// Requests at once, at most.
    pub(super) connections: usize,
    /// Requests a second; without, each connection sends as fast as it is answered.
    pub(super) rate: Option<f64>,
    pub(super) length: Duration,
}

impl Load {
    pub(super) async fn run(&self) -> Result<Samples> {
        let numbers = Arc::new(AtomicU64::new(0));
        let started = Instant::now();
        let mut connections = JoinSet::new();
        for _ in 0..self.connections {
            connections.spawn(on_one_connection(self.clone(), Arc::clone(&numbers), started));
        }
        let mut samples = Samples::default();
        while let Some(done) = connections.join_next().await {
            samples.add(done??);
        }
        Ok(samples)
    }

    fn due(&self, number: u64, started: Instant) -> Option<Instant> {
        let rate = self.rate?;
        // Numbers of requests are far below what a float holds exactly.
        #[expect(clippy::cast_precision_loss, reason = "see above")]
        let after = number as f64 / rate;
        Some(started + Duration::from_secs_f64(after))
    }
}

async fn on_one_connection(load: Load, numbers: Arc<AtomicU64>, started: Instant) -> Result<Samples> {
    let mut samples = Samples::default();
    let mut connection = Connection::open(load.address).await?;
    loop {
        let number = numbers.fetch_add(1, Ordering::Relaxed);
        let now = Instant::now();
        let due = load.due(number, started).unwrap_or(now);
        if due.duration_since(started) >= load.length {
            return Ok(samples);
        }
        let request = (load.requests)(number);
        let from = if due > now {
            sleep_until(due).await;
            Instant::now()
        } else {
            due
        };
        if let Ok(status) = connection.exchange(&request).await {
            samples.answers.push(Sample {
                due: due.duration_since(started),
                took: from.elapsed(),
                status,
            });
        } else {
            samples.failed += 1;
            connection = Connection::open(load.address).await?;
        }
    }
}
