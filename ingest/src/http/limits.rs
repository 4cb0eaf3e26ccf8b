//! Rate limits: of the `/api/v1` routes by the minute, of sign-ins, unknown tokens and other attempts beside them.
//!
//! Counted in Redis ([`redis`]), by its clock, so that all ingests count together. When Redis does not answer within
//! [`redis::ANSWER_WITHIN`], the request is counted in this process ([`local`]) with the same meaning: the limiter never
//! turns into a failure. A request over its limit is answered before anything of it is read or recorded.

mod attempts;
mod config;
mod local;
mod redis;
mod rules;
mod window;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use axum::http::{HeaderMap, HeaderName, HeaderValue};
use domain::token::TokenHash;
use runtime::clock::Clock;
use runtime::config::RedisConfig;
use runtime::lifecycle::Lifecycle;
use runtime::metrics::{Counter, LIMITER_COUNTS};

pub use self::config::LimitsConfig;
use self::local::LocalCounters;
use self::redis::RedisCounters;
pub use self::rules::Budget;
use self::rules::{Rule, Rules};
use self::window::{Count, Window};
use crate::http::client_address::ClientAddress;
use crate::http::error::ApiError;

const LIMIT: HeaderName = HeaderName::from_static("x-ratelimit-limit");
const REMAINING: HeaderName = HeaderName::from_static("x-ratelimit-remaining");
const RESET: HeaderName = HeaderName::from_static("x-ratelimit-reset");

#[derive(Debug, Clone)]
pub struct Limits {
    rules: Rules,
    redis: RedisCounters,
    minutes: LocalCounters,
    hours: LocalCounters,
    clock: Clock,
    falling_back: Arc<AtomicBool>,
    counted_in_redis: Counter,
    counted_in_memory: Counter,
}

/// Where a request is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Store {
    /// Together with the requests of all ingests.
    Shared,
    /// In this process, without a round trip: for requests that are shed in any case.
    Local,
}

/// Whose requests count together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Subject {
    Key(TokenHash),
    Client(Option<ClientAddress>),
}

impl Subject {
    /// `<budget>:<subject>`. A key is identified by the start of its hash.
    fn key(self, budget: Budget) -> String {
        let name = budget.name();
        match self {
            Self::Key(hash) => {
                let start = u64::from_be_bytes(hash.as_bytes().first_chunk().copied().unwrap_or_default());
                format!("{name}:key:{start:016x}")
            }
            Self::Client(client) => format!("{name}:{}", client_key(client)),
        }
    }
}

/// The client address in the keys of counts: `ip:192.0.2.7`.
fn client_key(client: Option<ClientAddress>) -> String {
    match client {
        Some(client) => format!("ip:{}", client.subscriber()),
        None => "ip:unknown".to_owned(),
    }
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
        Ok(Self {
            rules: Rules::new(limits),
            redis: RedisCounters::start(redis, installation, lifecycle)?,
            minutes: LocalCounters::new(Window::Minute),
            hours: LocalCounters::new(Window::Hour),
            clock,
            falling_back: Arc::new(AtomicBool::new(false)),
            counted_in_redis: LIMITER_COUNTS.with(["redis"]),
            counted_in_memory: LIMITER_COUNTS.with(["memory"]),
        })
    }

    /// Counts a request of a route.
    pub async fn count_request(&self, budget: Budget, subject: Subject, store: Store) -> Counted {
        let key = subject.key(budget);
        let count = match store {
            Store::Shared => self.count(&key, Window::Minute).await,
            Store::Local => self.count_locally(&key, Window::Minute),
        };
        let rule = self.rules.of(budget);
        let counted = Counted {
            count,
            limit: u64::from(rule.limit),
        };
        if counted.is_over() {
            rule.rejected.inc();
        }
        counted
    }

    /// Counts an attempt, rejects it over the limit, and returns the count.
    async fn spend(&self, key: &str, rule: &Rule) -> Result<u64, ApiError> {
        let count = self.count(key, rule.window).await;
        if count.used > u64::from(rule.limit) {
            return Err(rejected(rule, count));
        }
        Ok(count.used)
    }

    async fn count(&self, key: &str, window: Window) -> Count {
        let counted = self.redis.count(key, window).await;
        let store = if counted.is_some() {
            &self.counted_in_redis
        } else {
            &self.counted_in_memory
        };
        store.inc();
        self.report(counted.is_none());
        counted.unwrap_or_else(|| self.count_locally(key, window))
    }

    fn count_locally(&self, key: &str, window: Window) -> Count {
        let local = match window {
            Window::Minute => &self.minutes,
            Window::Hour => &self.hours,
        };
        local.count(key, self.clock.now().timestamp())
    }

    /// Logs once when Redis is lost and once when it is back, not with every request.
    fn report(&self, falling_back: bool) {
        if self.falling_back.swap(falling_back, Ordering::Relaxed) != falling_back {
            tracing::warn!(falling_back, "rate limit store changed");
        }
    }
}

fn rejected(rule: &Rule, count: Count) -> ApiError {
    rule.rejected.inc();
    ApiError::RateLimited {
        retry_after_seconds: count.retry_after_seconds(),
    }
}

/// A counted request.
#[derive(Debug, Clone, Copy)]
pub struct Counted {
    count: Count,
    limit: u64,
}

impl Counted {
    const fn is_over(self) -> bool {
        self.count.used > self.limit
    }

    /// 429 over the limit.
    pub fn refusal(self) -> Option<ApiError> {
        self.is_over().then(|| ApiError::RateLimited {
            retry_after_seconds: self.count.retry_after_seconds(),
        })
    }

    /// Sets the three headers of every answer.
    pub fn set_headers(self, headers: &mut HeaderMap) {
        let remaining = self.limit.saturating_sub(self.count.used);
        headers.insert(LIMIT, HeaderValue::from(self.limit));
        headers.insert(REMAINING, HeaderValue::from(remaining));
        headers.insert(RESET, HeaderValue::from(self.count.resets_at()));
    }
}
