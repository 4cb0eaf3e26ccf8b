//! Rate limits: requests of `/api/v1` routes by the minute; sign-ins, unknown tokens and other attempts
//! beside them.
//!
//! Requests of routes and leads without a key are counted in this process. The ingests exchange their counts
//! through Redis ([`counts`]), so a request never waits. Attempts to guess a secret are counted in Redis
//! before they are answered ([`attempts`]), and in this process ([`local`]) while Redis does not answer.
//! Unknown tokens are counted in this process alone. A failure of the limiter never fails a request. A
//! request over its limit is answered before any of it is read or recorded.

mod attempts;
mod config;
mod counts;
mod local;
mod redis;
mod rules;
mod window;

use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use axum::http::{HeaderMap, HeaderName, HeaderValue};
use runtime::clock::Clock;
use runtime::config::RedisConfig;
use runtime::lifecycle::Lifecycle;
use runtime::metrics::{Counter, LIMITER_COUNTS};

use self::counts::Counts;
use self::local::LocalCounters;
use self::redis::{Addition, RedisCounters};
use self::rules::{Rule, Rules};
use self::window::{Count, Window};
use crate::http::error::ApiError;

pub use self::config::LimitsConfig;
pub use self::counts::Subject;
pub use self::rules::Budget;

const LIMIT: HeaderName = HeaderName::from_static("x-ratelimit-limit");
const REMAINING: HeaderName = HeaderName::from_static("x-ratelimit-remaining");
const RESET: HeaderName = HeaderName::from_static("x-ratelimit-reset");

#[derive(Debug, Clone)]
pub struct Limits {
    rules: Rules,
    redis: RedisCounters,
    requests: Counts,
    minutes: LocalCounters,
    hours: LocalCounters,
    clock: Clock,
    falling_back: Arc<AtomicBool>,
    counted_in_redis: Counter,
    counted_in_memory: Counter,
}

impl Limits {
    /// `installation` separates the counts of installations that share a Redis.
    pub fn start(
        limits: &LimitsConfig,
        redis: &RedisConfig,
        installation: &str,
        clock: Clock,
        lifecycle: &Lifecycle,
    ) -> anyhow::Result<Self> {
        let redis = RedisCounters::start(redis, installation, lifecycle)?;
        Ok(Self {
            rules: Rules::new(limits),
            requests: Counts::start(redis.clone(), lifecycle),
            redis,
            minutes: LocalCounters::new(Window::Minute),
            hours: LocalCounters::new(Window::Hour),
            clock,
            falling_back: Arc::new(AtomicBool::new(false)),
            counted_in_redis: LIMITER_COUNTS.with(["redis"]),
            counted_in_memory: LIMITER_COUNTS.with(["memory"]),
        })
    }

    /// Counts a request of a route. `own_limit` is the subject's own limit; it replaces the installation's.
    pub fn count_request(&self, budget: Budget, subject: Subject, own_limit: Option<u32>) -> Counted {
        let mut rule = Cow::Borrowed(self.rules.of(budget));
        if let Some(limit) = own_limit {
            rule.to_mut().limit = limit;
        }
        let counted = Counted {
            count: self.count_shared(&rule, subject),
            limit: u64::from(rule.limit),
        };
        if counted.is_over() {
            rule.rejected.inc();
        }
        counted
    }

    /// Counts in this process; the other ingests learn of it later.
    fn count_shared(&self, rule: &Rule, subject: Subject) -> Count {
        self.report(self.redis.is_connected());
        self.requests.count(rule, subject, &self.clock)
    }

    /// Counts an attempt across all ingests, and rejects it over the limit.
    async fn spend(&self, key: String, rule: &Rule) -> Result<(), ApiError> {
        let now = self.clock.now().timestamp();
        let attempt = [Addition {
            key,
            window: rule.window,
            number: rule.window.number(now),
            used: 1,
        }];
        let used = self
            .redis
            .add(&attempt)
            .await
            .and_then(|sums| sums.first().copied());
        self.report(used.is_some());
        let [Addition { key, .. }] = &attempt;
        let count = match used {
            Some(used) => Count {
                window: rule.window,
                used,
                now,
            },
            None => self.count_locally(key, rule.window, now),
        };
        admitted(rule, count)
    }

    fn count_locally(&self, key: &str, window: Window, now: i64) -> Count {
        let local = match window {
            Window::Minute => &self.minutes,
            Window::Hour => &self.hours,
        };
        local.count(key, now)
    }

    /// Logs once when Redis is lost and once when it is back, not with every request.
    fn report(&self, is_connected: bool) {
        let falling_back = !is_connected;
        if falling_back {
            self.counted_in_memory.inc();
        } else {
            self.counted_in_redis.inc();
        }
        // Reads before it writes: every request runs this, and a write takes the cache line from the other
        // threads.
        if self.falling_back.load(Ordering::Relaxed) != falling_back
            && self.falling_back.swap(falling_back, Ordering::Relaxed) != falling_back
        {
            tracing::warn!(falling_back, "rate limit store changed");
        }
    }
}

fn admitted(rule: &Rule, count: Count) -> Result<(), ApiError> {
    if count.used > u64::from(rule.limit) {
        return Err(rejected(rule, count));
    }
    Ok(())
}

fn rejected(rule: &Rule, count: Count) -> ApiError {
    rule.rejected.inc();
    ApiError::RateLimited {
        retry_after_seconds: count.retry_after_seconds(),
    }
}

#[derive(Debug, Clone, Copy)]
pub struct Counted {
    count: Count,
    limit: u64,
}

impl Counted {
    const fn is_over(self) -> bool {
        self.count.used > self.limit
    }

    pub fn refusal(self) -> Option<ApiError> {
        self.is_over().then(|| ApiError::RateLimited {
            retry_after_seconds: self.count.retry_after_seconds(),
        })
    }

    pub fn set_headers(self, headers: &mut HeaderMap) {
        let remaining = self.limit.saturating_sub(self.count.used);
        headers.insert(LIMIT, HeaderValue::from(self.limit));
        headers.insert(REMAINING, HeaderValue::from(remaining));
        headers.insert(RESET, HeaderValue::from(self.count.resets_at()));
    }
}
