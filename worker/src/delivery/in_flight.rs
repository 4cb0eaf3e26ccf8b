//! Counts the attempts in flight, and limits how many more each endpoint may have.
//!
//! An endpoint that answers late or never holds its slots for seconds. Two rules keep it from delaying other
//! endpoints:
//!
//! - An endpoint begins with one attempt at a time. Each quick success doubles this limit up to the
//!   endpoint's cap, a slow success adds one, and a failure resets it to one.
//! - Endpoints whose last attempt failed or was slow have at most a quarter of all slots. Additional attempts
//!   of quick endpoints (beyond the first) have at most half, so that a quarter is left for first attempts.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use domain::ids::WebhookEndpointId;
use storage::outbound::webhook_queue::EndpointRoom;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::config::WebhookLimitsConfig;

/// A success that took longer counts as slow.
const QUICK: Duration = Duration::from_secs(1);
/// Above this number of endpoints, those without attempts in flight are forgotten.
const REMEMBERED: usize = 10_000;

/// Clones share the counts.
#[derive(Debug, Clone)]
pub(super) struct InFlight {
    slots: Arc<Semaphore>,
    pub(super) max: usize,
    max_per_endpoint: i32,
    endpoints: Arc<Mutex<HashMap<WebhookEndpointId, Standing>>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Standing {
    in_flight: i32,
    most: i32,
    struggles: bool,
}

impl Standing {
    const NEW: Self = Self {
        in_flight: 0,
        most: 1,
        struggles: false,
    };
}

/// The numbers of attempts that may be added to those in flight.
#[derive(Debug)]
pub(super) struct Free {
    pub(super) all: usize,
    pub(super) struggling: usize,
    pub(super) additional: usize,
    pub(super) endpoints: Vec<EndpointRoom>,
}

/// A slot for one attempt in flight. Dropping it frees the slot.
#[derive(Debug)]
pub(super) struct Slot {
    endpoint_id: WebhookEndpointId,
    in_flight: InFlight,
    _permit: OwnedSemaphorePermit,
}

impl InFlight {
    pub(super) fn new(limits: &WebhookLimitsConfig) -> Self {
        Self {
            slots: Arc::new(Semaphore::new(limits.webhook_in_flight)),
            max: limits.webhook_in_flight,
            max_per_endpoint: limits.webhook_in_flight_per_endpoint,
            endpoints: Arc::default(),
        }
    }

    pub(super) fn free(&self) -> usize {
        self.slots.available_permits()
    }

    pub(super) fn count(&self) -> usize {
        self.max.saturating_sub(self.free())
    }

    pub(super) fn room(&self) -> Free {
        let endpoints = self.lock();
        let of = |counts: fn(&Standing) -> i32| -> usize {
            let count: i32 = endpoints.values().map(counts).sum();
            usize::try_from(count).unwrap_or(0)
        };
        let struggling = of(|one| if one.struggles { one.in_flight } else { 0 });
        let additional = of(|one| {
            if one.struggles {
                0
            } else {
                (one.in_flight - 1).max(0)
            }
        });
        Free {
            all: self.free(),
            struggling: (self.max / 4).max(1).saturating_sub(struggling),
            additional: (self.max / 2).saturating_sub(additional),
            endpoints: endpoints
                .iter()
                .map(|(endpoint_id, one)| EndpointRoom {
                    endpoint_id: *endpoint_id,
                    in_flight: one.in_flight,
                    most: one.most,
                    struggles: one.struggles,
                })
                .collect(),
        }
    }

    /// Returns `None` while all slots are taken.
    pub(super) fn begin(&self, endpoint_id: WebhookEndpointId) -> Option<Slot> {
        let permit = Arc::clone(&self.slots).try_acquire_owned().ok()?;
        let mut endpoints = self.lock();
        if endpoints.len() >= REMEMBERED {
            endpoints.retain(|_, one| one.in_flight > 0);
        }
        endpoints.entry(endpoint_id).or_insert(Standing::NEW).in_flight += 1;
        drop(endpoints);
        Some(Slot {
            endpoint_id,
            in_flight: self.clone(),
            _permit: permit,
        })
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<WebhookEndpointId, Standing>> {
        self.endpoints.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Slot {
    pub(super) fn ended(&self, succeeded: bool, took: Duration) {
        if let Some(standing) = self.in_flight.lock().get_mut(&self.endpoint_id) {
            let is_quick = took < QUICK;
            standing.struggles = !(succeeded && is_quick);
            let most = match (succeeded, is_quick) {
                (false, _) => 1,
                (true, false) => standing.most.saturating_add(1),
                (true, true) => standing.most.saturating_mul(2),
            };
            standing.most = most.min(self.in_flight.max_per_endpoint);
        }
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        if let Some(standing) = self.in_flight.lock().get_mut(&self.endpoint_id) {
            standing.in_flight -= 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(max: usize) -> InFlight {
        InFlight::new(&WebhookLimitsConfig {
            webhook_in_flight: max,
            webhook_in_flight_per_endpoint: 8,
            webhook_timeout_ms: 15_000,
            webhook_ca_file: None,
        })
    }

    fn standing(in_flight: &InFlight, id: i64) -> EndpointRoom {
        let room = in_flight.room();
        let found = room.endpoints.iter().find(|one| one.endpoint_id.get() == id);
        *found.unwrap()
    }

    fn attempt(in_flight: &InFlight, id: i64, succeeds: bool, took: Duration) -> EndpointRoom {
        let slot = in_flight.begin(WebhookEndpointId::new(id)).unwrap();
        slot.ended(succeeds, took);
        drop(slot);
        standing(in_flight, id)
    }

    #[test]
    fn successes_give_an_endpoint_more_at_once_and_a_failure_one() {
        let (in_flight, quick, slow) = (of(100), Duration::from_millis(20), Duration::from_secs(2));
        let most =
            |id, took| -> Vec<i32> { (0..9).map(|_| attempt(&in_flight, id, true, took).most).collect() };
        assert_eq!(most(1, quick), [2, 4, 8, 8, 8, 8, 8, 8, 8]);
        assert_eq!(most(2, slow), [2, 3, 4, 5, 6, 7, 8, 8, 8]);
        assert!(standing(&in_flight, 2).struggles);
        for took in [quick, slow] {
            let after = attempt(&in_flight, 1, false, took);
            assert_eq!((after.most, after.struggles, after.in_flight), (1, true, 0));
            let again = attempt(&in_flight, 1, true, quick);
            assert_eq!((again.most, again.struggles), (2, false));
        }
    }

    #[test]
    fn slots_are_left_for_first_attempts() {
        let (in_flight, quick) = (of(16), Duration::from_millis(20));
        attempt(&in_flight, 1, false, quick);
        attempt(&in_flight, 2, true, quick);
        let begin = |id| in_flight.begin(WebhookEndpointId::new(id)).unwrap();
        let slots = [begin(1), begin(2), begin(2), begin(3)];
        let room = in_flight.room();
        assert_eq!((room.all, room.struggling, room.additional), (12, 3, 7));
        drop(slots);
        let room = in_flight.room();
        assert_eq!((room.all, room.struggling, room.additional), (16, 4, 8));
    }
}
