//! How many callers may wait for the pipeline at once, for each noun.
//!
//! With N callers waiting and X outcomes a second, the next caller waits N / X seconds. Without a bound on N,
//! the callers beyond what the pipeline handles within the deadline would all wait for the deadline and get
//! an unknown outcome, and the pipeline would process them for nothing. Each would hold a connection and
//! memory meanwhile. With a bound, they are shed at once, nothing of theirs is recorded, and the answer says
//! when to retry.
//!
//! A permit is taken after a request was read and parsed: a slow sender holds none. At the limit a caller
//! queues for a permit, programs in turns ([`fair_queue`]) and not for long. Queueing beats refusing: most
//! callers have a bounded number of connections, and a waiting caller sends no further requests, but a
//! refused caller sends the next at once. A caller beyond the queue is shed before its body is read
//! ([`ConcurrencyLimit::sheds`]): under a flood, shedding must cost little, or it takes CPU time from the
//! requests that are served.

mod fair_queue;

use std::time::Duration;

use runtime::metrics::serve::Sources;
use runtime::metrics::{Counter, QUEUED, SHED, UNANSWERED, WAITING, WAITING_MAX, to_f64};
use runtime::sampled_counter::SampledCounter;
use tokio::time::{Instant, timeout};

use self::fair_queue::{Entered, FairQueue};
use crate::http::error::ApiError;

pub use self::fair_queue::{Permit, Share};

/// Callers that may queue, for each permit. Each holds its connection and its parsed request, about 30 KB.
const QUEUED_FOR_A_PERMIT: usize = 8;
/// The longest wait in the queue. A refused caller is asked to retry after a second.
const QUEUE_AT_MOST: Duration = Duration::from_secs(1);

/// The permits of one noun, shared by clones.
#[derive(Debug, Clone)]
pub struct ConcurrencyLimit {
    noun: &'static str,
    limit: usize,
    queue: FairQueue,
    patience: Duration,
    shed: SampledCounter,
    unanswered: Counter,
}

impl ConcurrencyLimit {
    pub fn new(noun: &'static str, limit: usize, answer_within: Duration) -> Self {
        Self {
            noun,
            limit,
            queue: FairQueue::new(limit, limit.saturating_mul(QUEUED_FOR_A_PERMIT)),
            patience: QUEUE_AT_MOST.min(answer_within / 4),
            shed: SampledCounter::new(SHED.with([noun])),
            unanswered: UNANSWERED.with([noun]),
        }
    }

    /// Counts a caller whose deadline passed without an outcome.
    pub fn count_unanswered(&self) {
        self.unanswered.inc();
    }

    pub fn show(&self, sources: Sources) -> Sources {
        WAITING_MAX.with([self.noun]).set(to_f64(self.limit));
        let limit = self.clone();
        let (waiting, queued) = (WAITING.with([self.noun]), QUEUED.with([self.noun]));
        sources.and(move || {
            waiting.set(to_f64(limit.waiting()));
            queued.set(to_f64(limit.queue.queued()));
            std::future::ready(())
        })
    }

    pub fn waiting(&self) -> usize {
        self.limit.saturating_sub(self.queue.free())
    }

    /// Whether the queue is full too, and no other share holds more of it.
    pub fn sheds(&self, share: impl FnOnce() -> Share) -> bool {
        self.queue.is_full() && self.queue.refuses(share())
    }

    pub async fn acquire(&self, share: Share) -> Result<Permit, ApiError> {
        let place = match self.queue.enter(share, Instant::now()) {
            Entered::AtOnce(permit) => return Ok(permit),
            Entered::Queued(place) => place,
            Entered::Refused => return Err(self.shed()),
        };
        match timeout(self.patience, place.permit()).await {
            Ok(Some(permit)) => Ok(permit),
            _ => Err(self.shed()),
        }
    }

    /// Counts a shed request, and logs the first ones.
    pub fn shed(&self) -> ApiError {
        if let Some(shed) = self.shed.increment() {
            tracing::warn!(noun = self.noun, shed, "concurrency limit reached, shedding");
        }
        ApiError::Overloaded
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt;

    use super::*;

    const LONG: Duration = Duration::from_hours(1);

    #[tokio::test]
    async fn the_limit_is_shared_by_clones_and_a_dropped_permit_is_free_again() {
        let limit = ConcurrencyLimit::new("sales", 2, Duration::ZERO);
        let (first, _second) = (
            limit.acquire(None).await.unwrap(),
            limit.acquire(None).await.unwrap(),
        );
        assert!(matches!(
            limit.clone().acquire(None).await,
            Err(ApiError::Overloaded)
        ));
        drop(first);
        let _third = limit.acquire(None).await.unwrap();
        assert!(matches!(limit.acquire(None).await, Err(ApiError::Overloaded)));
    }

    #[tokio::test(start_paused = true)]
    async fn callers_queue_in_order_and_the_one_beyond_the_queue_is_shed() {
        let limit = ConcurrencyLimit::new("sales", 1, LONG);
        let first = limit.acquire(None).await.unwrap();
        let mut queued: Vec<_> = (0..QUEUED_FOR_A_PERMIT)
            .map(|_| Box::pin(limit.acquire(None)))
            .collect();
        for caller in &mut queued {
            assert!(caller.now_or_never().is_none());
        }
        assert!(limit.sheds(|| None));
        assert!(matches!(limit.acquire(None).await, Err(ApiError::Overloaded)));
        drop(first);
        let mut queued = queued.into_iter();
        let _second = queued.next().unwrap().await.unwrap();
        assert!(!limit.sheds(|| None), "a place in the queue is free");
        assert!(
            matches!(queued.next().unwrap().await, Err(ApiError::Overloaded)),
            "nobody leaves"
        );
    }
}
