//! Bounds of a consumer.

use std::time::Duration;

use runtime::batch::schedule::Rules;
use runtime::retry::RetryPolicy;

/// Limit of concurrent batches: while one waits for the database, the next one is computed.
const AT_ONCE: usize = 2;

/// A batch with fewer records does not begin beside another one.
const MIN_CONCURRENT: usize = 16;

/// The module [`consume`](super) explains these bounds.
#[derive(Debug, Clone)]
pub struct ConsumeBounds {
    pub max_records: usize,
    /// Limit of postponed and isolated records together. At this limit no fresh records are admitted.
    pub max_later: usize,
    /// How long a postponed record waits.
    pub later_delay: Duration,
    /// Retries of a batch that failed transiently, before its messages are given back.
    pub retry: RetryPolicy,
}

impl ConsumeBounds {
    pub(super) fn rules(&self, pace: Duration) -> Rules {
        let large = Rules::large(self.max_records);
        Rules {
            at_once: AT_ONCE,
            beside: MIN_CONCURRENT.min(large)..=large.max(1),
            max_records: self.max_records,
            pace,
        }
    }
}

impl Default for ConsumeBounds {
    fn default() -> Self {
        Self {
            max_records: 512,
            max_later: 4_096,
            later_delay: Duration::from_millis(100),
            retry: RetryPolicy {
                first_delay: Duration::from_millis(50),
                max_delay: Duration::from_secs(1),
                max_attempts: 6,
                max_elapsed: Some(Duration::from_secs(5)),
            },
        }
    }
}
