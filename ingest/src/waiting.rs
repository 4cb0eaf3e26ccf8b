//! How many callers may wait for the pipeline at once, noun by noun.
//!
//! With N callers waiting and X answered a second, the next one waits N / X seconds. Without a bound on N, callers beyond
//! what the pipeline manages within the deadline all wait for the deadline, are told that the outcome is unknown, and were
//! processed for nobody; each keeps its connection and its memory meanwhile. With it they hear at once that nothing of
//! theirs was taken, and when to come again.
//!
//! A place is taken when a request has been read and understood, never before: somebody who sends slowly holds none. But
//! a request that comes when there is none left is turned away before anything is read of it ([`Places::are_taken`]): under
//! a flood, what is turned away must cost little, or it takes the processors from what is not.

use std::sync::Arc;

use runtime::metrics::serve::Sources;
use runtime::metrics::{Counter, SHED, UNANSWERED, WAITING, WAITING_MAX, to_f64};
use runtime::sampled_counter::SampledCounter;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::error::ApiError;

/// Places of one noun. Clones share them.
#[derive(Debug, Clone)]
pub struct Places {
    noun: &'static str,
    free: Arc<Semaphore>,
    places: usize,
    shed: SampledCounter,
    unanswered: Counter,
}

/// A place in the queue, for as long as it is held.
#[derive(Debug)]
pub struct Place {
    _permit: OwnedSemaphorePermit,
}

impl Places {
    pub fn new(noun: &'static str, places: usize) -> Self {
        let places = places.min(Semaphore::MAX_PERMITS);
        Self {
            noun,
            free: Arc::new(Semaphore::new(places)),
            places,
            shed: SampledCounter::new(SHED.with([noun])),
            unanswered: UNANSWERED.with([noun]),
        }
    }

    /// Somebody who had a place waited in vain.
    pub fn leave_unanswered(&self) {
        self.unanswered.inc();
    }

    /// Shows how many wait.
    pub fn show(&self, sources: Sources) -> Sources {
        WAITING_MAX.with([self.noun]).set(to_f64(self.places));
        let (free, places, waiting) = (Arc::clone(&self.free), self.places, WAITING.with([self.noun]));
        sources.and(move || {
            waiting.set(to_f64(places.saturating_sub(free.available_permits())));
            std::future::ready(())
        })
    }

    /// Whether nobody else would get one now.
    pub fn are_taken(&self) -> bool {
        self.free.available_permits() == 0
    }

    /// Nothing of a request that gets no place has happened.
    pub fn take(&self) -> Result<Place, ApiError> {
        match Arc::clone(&self.free).try_acquire_owned() {
            Ok(permit) => Ok(Place { _permit: permit }),
            Err(_) => Err(self.turn_away()),
        }
    }

    /// One that gets no place.
    pub fn turn_away(&self) -> ApiError {
        if let Some(shed) = self.shed.increment() {
            tracing::warn!(noun = self.noun, shed, "as many callers wait as may: shedding");
        }
        ApiError::Overloaded
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_many_as_there_are_places_and_no_more_until_one_is_free() {
        let places = Places::new("sales", 2);
        let (first, _second) = (places.take().unwrap(), places.take().unwrap());
        assert!(matches!(places.clone().take(), Err(ApiError::Overloaded)));
        assert!(places.are_taken());
        drop(first);
        assert!(!places.are_taken());
        let _third = places.take().unwrap();
        assert!(matches!(places.take(), Err(ApiError::Overloaded)));
    }
}
