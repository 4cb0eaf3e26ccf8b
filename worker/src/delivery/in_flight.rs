//! How many attempts are in flight, in all and of each endpoint.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use domain::ids::WebhookEndpointId;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::config::WebhookLimitsConfig;

/// Clones share the counts.
#[derive(Debug, Clone)]
pub(super) struct InFlight {
    slots: Arc<Semaphore>,
    pub(super) max: usize,
    pub(super) max_per_endpoint: i32,
    by_endpoint: Arc<Mutex<HashMap<WebhookEndpointId, i32>>>,
}

/// A place among what is in flight, until it is dropped.
#[derive(Debug)]
pub(super) struct Slot {
    endpoint_id: WebhookEndpointId,
    by_endpoint: Arc<Mutex<HashMap<WebhookEndpointId, i32>>>,
    _permit: OwnedSemaphorePermit,
}

impl InFlight {
    pub(super) fn new(limits: &WebhookLimitsConfig) -> Self {
        Self {
            slots: Arc::new(Semaphore::new(limits.webhook_in_flight)),
            max: limits.webhook_in_flight,
            max_per_endpoint: limits.webhook_in_flight_per_endpoint,
            by_endpoint: Arc::default(),
        }
    }

    pub(super) fn free(&self) -> usize {
        self.slots.available_permits()
    }

    pub(super) fn count(&self) -> usize {
        self.max.saturating_sub(self.free())
    }

    pub(super) fn by_endpoint(&self) -> Vec<(WebhookEndpointId, i32)> {
        let counts = lock(&self.by_endpoint);
        counts
            .iter()
            .map(|(endpoint_id, count)| (*endpoint_id, *count))
            .collect()
    }

    /// `None` while all slots are taken.
    pub(super) fn begin(&self, endpoint_id: WebhookEndpointId) -> Option<Slot> {
        let permit = Arc::clone(&self.slots).try_acquire_owned().ok()?;
        *lock(&self.by_endpoint).entry(endpoint_id).or_default() += 1;
        Some(Slot {
            endpoint_id,
            by_endpoint: Arc::clone(&self.by_endpoint),
            _permit: permit,
        })
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        if let Entry::Occupied(mut count) = lock(&self.by_endpoint).entry(self.endpoint_id) {
            *count.get_mut() -= 1;
            if *count.get() == 0 {
                count.remove();
            }
        }
    }
}

fn lock(counts: &Mutex<HashMap<WebhookEndpointId, i32>>) -> MutexGuard<'_, HashMap<WebhookEndpointId, i32>> {
    counts.lock().unwrap_or_else(PoisonError::into_inner)
}
