//! How many callers may wait for the pipeline at once, for each noun.
//!
//! With N callers waiting and X outcomes a second, the next caller waits N / X seconds. Without a bound on N, callers beyond
//! what the pipeline handles within the deadline all wait for the deadline, get an unknown outcome, and were processed in
//! vain; each holds its connection and its memory meanwhile. With it, they are shed at once, nothing of theirs is recorded,
//! and they know when to retry.
//!
//! A permit is taken after a request was read and parsed: a slow sender holds none. But at the limit a request is shed
//! before its body is read ([`ConcurrencyLimit::is_reached`]): under a flood, shedding must cost little, or it takes the
//! processors from the requests that are served.

use std::sync::Arc;

use runtime::metrics::serve::Sources;
use runtime::metrics::{Counter, SHED, UNANSWERED, WAITING, WAITING_MAX, to_f64};
use runtime::sampled_counter::SampledCounter;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::http::error::ApiError;

/// The permits of one noun, shared by clones.
#[derive(Debug, Clone)]
pub struct ConcurrencyLimit {
    noun: &'static str,
    permits: Arc<Semaphore>,
    limit: usize,
    shed: SampledCounter,
    unanswered: Counter,
}

impl ConcurrencyLimit {
    pub fn new(noun: &'static str, limit: usize) -> Self {
        let limit = limit.min(Semaphore::MAX_PERMITS);
        Self {
            noun,
            permits: Arc::new(Semaphore::new(limit)),
            limit,
            shed: SampledCounter::new(SHED.with([noun])),
            unanswered: UNANSWERED.with([noun]),
        }
    }

    /// Counts a caller whose deadline passed without an outcome.
    pub fn count_unanswered(&self) {
        self.unanswered.inc();
    }

    /// Exports the limit and the number of waiting callers.
    pub fn show(&self, sources: Sources) -> Sources {
        WAITING_MAX.with([self.noun]).set(to_f64(self.limit));
        let (permits, limit, waiting) = (Arc::clone(&self.permits), self.limit, WAITING.with([self.noun]));
        sources.and(move || {
            waiting.set(to_f64(limit.saturating_sub(permits.available_permits())));
            std::future::ready(())
        })
    }

    pub fn is_reached(&self) -> bool {
        self.permits.available_permits() == 0
    }

    /// A permit, or the request is shed before any effect.
    pub fn acquire(&self) -> Result<OwnedSemaphorePermit, ApiError> {
        let permit = Arc::clone(&self.permits).try_acquire_owned();
        permit.map_err(|_| self.shed())
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
    use super::*;

    #[test]
    fn the_limit_is_shared_by_clones_and_a_dropped_permit_is_free_again() {
        let limit = ConcurrencyLimit::new("sales", 2);
        let (first, _second) = (limit.acquire().unwrap(), limit.acquire().unwrap());
        assert!(matches!(limit.clone().acquire(), Err(ApiError::Overloaded)));
        assert!(limit.is_reached());
        drop(first);
        assert!(!limit.is_reached());
        let _third = limit.acquire().unwrap();
        assert!(matches!(limit.acquire(), Err(ApiError::Overloaded)));
    }
}
