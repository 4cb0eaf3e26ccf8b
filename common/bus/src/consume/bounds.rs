//! Bounds of a consumer.

use std::time::Duration;

use runtime::retry::RetryPolicy;

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
