//! Limits of the `/api/v1` routes: so many requests a minute, and so many test chains an hour.
//!
//! Counted in Redis ([`redis`]), by its clock, so that all ingests count together. When Redis does not answer within
//! [`redis::ANSWER_WITHIN`], the request is counted in this process ([`local`]) with the same meaning: the limiter never
//! turns into a failure. What is over its limit is answered here, before anything of it is read or recorded.

mod local;
mod redis;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use axum::http::{HeaderMap, HeaderName, HeaderValue};
use clap::Args;
use domain::ids::{ProgramId, UserId};
use runtime::clock::Clock;
use runtime::config::RedisConfig;
use runtime::lifecycle::Lifecycle;
use runtime::metrics::{Counter, LIMITED, LIMITER_COUNTS};
use sha2::{Digest, Sha256};

use self::local::LocalCounters;
use self::redis::RedisCounters;
use crate::app::App;
use crate::http::client_address::ClientAddress;
use crate::http::credential::Credential;
use crate::http::error::ApiError;
use crate::tracking::directory::Directory;

const LIMIT: HeaderName = HeaderName::from_static("x-ratelimit-limit");
const REMAINING: HeaderName = HeaderName::from_static("x-ratelimit-remaining");
const RESET: HeaderName = HeaderName::from_static("x-ratelimit-reset");

/// Requests a minute, unless said otherwise.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Limits, in requests a minute")]
pub struct LimitsConfig {
    /// Clicks, for each client address.
    #[arg(long, env = "CLICK_LIMIT", default_value_t = 60)]
    pub click_limit: u32,
    /// Leads, for each client address.
    #[arg(long, env = "LEAD_LIMIT", default_value_t = 30)]
    pub lead_limit: u32,
    /// Leads without a key an hour, for each client address; those beyond a quarter are shown as odd (`many_leads`). Unless set, as many
    /// as `LEAD_LIMIT` allows in an hour.
    #[arg(long, env = "BROWSER_LEAD_LIMIT")]
    pub browser_lead_limit: Option<u32>,
    /// Sales and refunds together, for each program key.
    #[arg(long, env = "SALE_REFUND_LIMIT", default_value_t = 120)]
    pub sale_refund_limit: u32,
    /// Readiness, for each program key.
    #[arg(long, env = "READINESS_LIMIT", default_value_t = 30)]
    pub readiness_limit: u32,
    /// The CLI's routes together, for each program key.
    #[arg(long, env = "CLI_LIMIT", default_value_t = 60)]
    pub cli_limit: u32,
    /// Attempts to sign in, for each client address. For each account it is a quarter of them.
    #[arg(long, env = "SIGN_IN_LIMIT", default_value_t = 20)]
    pub sign_in_limit: u32,
    /// Codes of a second factor an hour, for each account.
    #[arg(long, env = "CODE_LIMIT", default_value_t = 20)]
    pub code_limit: u32,
    /// Management requests, for each user and each management key.
    #[arg(long, env = "MANAGEMENT_LIMIT", default_value_t = 1_200)]
    pub management_limit: u32,
    /// Sessions, management keys and invitations that do not exist, for each client address at each ingest.
    #[arg(long, env = "UNKNOWN_TOKEN_LIMIT", default_value_t = 120)]
    pub unknown_token_limit: u32,
    /// Test events without a key, for each program.
    #[arg(long, env = "KEYLESS_TEST_LIMIT", default_value_t = 600)]
    pub keyless_test_limit: u32,
    /// Test chains an hour, for each program.
    #[arg(long, env = "CHAIN_LIMIT", default_value_t = 10)]
    pub chain_limit: u32,
}

impl LimitsConfig {
    fn browser_leads_an_hour(&self) -> u32 {
        let all = self.lead_limit.saturating_mul(60);
        self.browser_lead_limit.unwrap_or(all)
    }
}

/// What is counted together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Budget {
    Click,
    Lead,
    SaleAndRefund,
    Readiness,
    Cli,
}

impl Budget {
    const fn name(self) -> &'static str {
        match self {
            Self::Click => "click",
            Self::Lead => "lead",
            Self::SaleAndRefund => "sale_refund",
            Self::Readiness => "readiness",
            Self::Cli => "cli",
        }
    }

    /// Browsers are told apart by address, backends by key.
    const fn is_by_key(self) -> bool {
        matches!(self, Self::SaleAndRefund | Self::Readiness | Self::Cli)
    }
}

/// What a count spans: by the clock, so that all ingests agree on its beginning and end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Window {
    Minute,
    Hour,
}

impl Window {
    const fn seconds(self) -> i64 {
        match self {
            Self::Minute => 60,
            Self::Hour => 3600,
        }
    }
}

/// Where a window's count stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Count {
    window: Window,
    /// Requests in this window, this one included.
    used: u64,
    /// The present, in seconds since 1970.
    now: i64,
}

impl Count {
    /// The end of the window, in seconds since 1970.
    const fn resets_at(self) -> i64 {
        let seconds = self.window.seconds();
        (self.now.div_euclid(seconds) + 1) * seconds
    }

    fn retry_after_seconds(self) -> i64 {
        (self.resets_at() - self.now).max(1)
    }
}

#[derive(Debug, Clone)]
pub struct Limits {
    limits: LimitsConfig,
    redis: RedisCounters,
    minutes: LocalCounters,
    hours: LocalCounters,
    clock: Clock,
    falling_back: Arc<AtomicBool>,
    counted: Counters,
}

/// Where requests were counted, and how many were too many.
#[derive(Debug, Clone)]
struct Counters {
    by_redis: Counter,
    in_memory: Counter,
    clicks: Counter,
    leads: Counter,
    browser_leads: Counter,
    sales_and_refunds: Counter,
    readiness: Counter,
    cli: Counter,
    sign_ins: Counter,
    management: Counter,
    unknown_tokens: Counter,
    chains: Counter,
    keyless_tests: Counter,
}

impl Counters {
    fn new() -> Self {
        Self {
            by_redis: LIMITER_COUNTS.with(["redis"]),
            in_memory: LIMITER_COUNTS.with(["memory"]),
            clicks: LIMITED.with([Budget::Click.name()]),
            leads: LIMITED.with([Budget::Lead.name()]),
            browser_leads: LIMITED.with(["browser_lead"]),
            sales_and_refunds: LIMITED.with([Budget::SaleAndRefund.name()]),
            readiness: LIMITED.with([Budget::Readiness.name()]),
            cli: LIMITED.with([Budget::Cli.name()]),
            sign_ins: LIMITED.with(["sign_in"]),
            management: LIMITED.with(["management"]),
            unknown_tokens: LIMITED.with(["unknown_token"]),
            chains: LIMITED.with(["chain"]),
            keyless_tests: LIMITED.with(["keyless_test"]),
        }
    }

    const fn limited(&self, budget: Budget) -> &Counter {
        match budget {
            Budget::Click => &self.clicks,
            Budget::Lead => &self.leads,
            Budget::SaleAndRefund => &self.sales_and_refunds,
            Budget::Readiness => &self.readiness,
            Budget::Cli => &self.cli,
        }
    }
}

impl Limits {
    /// `installation` keeps the counts of installations apart that share a Redis.
    pub fn start(
        limits: LimitsConfig,
        redis: &RedisConfig,
        installation: &str,
        clock: Clock,
        lifecycle: &Lifecycle,
    ) -> anyhow::Result<Self> {
        Ok(Self {
            limits,
            redis: RedisCounters::start(redis, installation, lifecycle)?,
            minutes: LocalCounters::new(Window::Minute),
            hours: LocalCounters::new(Window::Hour),
            clock,
            falling_back: Arc::new(AtomicBool::new(false)),
            counted: Counters::new(),
        })
    }

    const fn limit(&self, budget: Budget) -> u32 {
        match budget {
            Budget::Click => self.limits.click_limit,
            Budget::Lead => self.limits.lead_limit,
            Budget::SaleAndRefund => self.limits.sale_refund_limit,
            Budget::Readiness => self.limits.readiness_limit,
            Budget::Cli => self.limits.cli_limit,
        }
    }

    /// Counts a test chain of a program, and refuses it if it is one too many in its hour.
    pub async fn spend_chain(&self, program_id: ProgramId) -> Result<(), ApiError> {
        let key = format!("chain:program:{program_id}");
        let limit = self.limits.chain_limit;
        self.spend(&key, Window::Hour, limit, &self.counted.chains)
            .await?;
        Ok(())
    }

    /// Counts a test event without a key of the program it names, whether that exists or not, and refuses one too many.
    pub async fn spend_keyless_test(&self, named: ProgramId) -> Result<(), ApiError> {
        let key = format!("keyless_test:program:{named}");
        let limit = self.limits.keyless_test_limit;
        self.spend(&key, Window::Minute, limit, &self.counted.keyless_tests)
            .await?;
        Ok(())
    }

    /// Counts a lead without a key, refuses it if it is one too many of its address in its hour, and says whether it is one
    /// of many.
    pub async fn spend_browser_lead(&self, client: Option<ClientAddress>) -> Result<bool, ApiError> {
        let limit = self.limits.browser_leads_an_hour();
        let limited = &self.counted.browser_leads;
        let key = format!("browser_lead:{}", of_address(client));
        let used = self.spend(&key, Window::Hour, limit, limited).await?;
        Ok(used > u64::from(limit.div_ceil(4)))
    }

    /// Counts an attempt to sign in, or to use a one-time secret, by address and by the account it is aimed at.
    pub async fn spend_sign_in(&self, client: Option<ClientAddress>, account: &str) -> Result<(), ApiError> {
        let limit = self.limits.sign_in_limit;
        let limited = &self.counted.sign_ins;
        let key = format!("sign_in:{}", of_address(client));
        self.spend(&key, Window::Minute, limit, limited).await?;
        // The name may be anything of any length, and is personal: what is kept of it is a hash.
        let account = Sha256::digest(account.trim().to_lowercase());
        let start = u64::from_be_bytes(account.first_chunk().copied().unwrap_or_default());
        let key = format!("sign_in:account:{start:016x}");
        self.spend(&key, Window::Minute, limit.div_ceil(4), limited)
            .await?;
        Ok(())
    }

    /// Counts an attempt to use a passkey, by address: whose passkey it is, is not known yet.
    pub async fn spend_passkey(&self, client: Option<ClientAddress>) -> Result<(), ApiError> {
        let key = format!("passkey:{}", of_address(client));
        let limit = self.limits.sign_in_limit;
        self.spend(&key, Window::Minute, limit, &self.counted.sign_ins)
            .await?;
        Ok(())
    }

    /// Counts a code of an authenticator app or of a recovery list. Six digits can be guessed by who has the password and the time:
    /// twenty an hour come to a chance of one in seven hundred a day.
    pub async fn spend_code(&self, user_id: UserId) -> Result<(), ApiError> {
        let key = format!("code:user:{user_id}");
        let limit = self.limits.code_limit;
        self.spend(&key, Window::Hour, limit, &self.counted.sign_ins)
            .await?;
        Ok(())
    }

    /// Counts a management request of a user or a key: `user:7`, `key:7`.
    pub async fn spend_management(&self, who: &str) -> Result<(), ApiError> {
        let key = format!("management:{who}");
        let limit = self.limits.management_limit;
        self.spend(&key, Window::Minute, limit, &self.counted.management)
            .await?;
        Ok(())
    }

    /// Refuses a client that has sent too many tokens of nobody this minute, before another one is looked up. Counted in this
    /// process: a good token costs no question to Redis.
    pub fn admit_token(&self, client: Option<ClientAddress>) -> Result<(), ApiError> {
        let count = self
            .minutes
            .look(&unknown_tokens_of(client), self.clock.now().timestamp());
        if count.used < u64::from(self.limits.unknown_token_limit) {
            return Ok(());
        }
        self.counted.unknown_tokens.inc();
        Err(ApiError::RateLimited {
            retry_after_seconds: count.retry_after_seconds(),
        })
    }

    /// Counts a token that was looked up and does not exist.
    pub fn count_unknown_token(&self, client: Option<ClientAddress>) {
        self.minutes
            .count(&unknown_tokens_of(client), self.clock.now().timestamp());
    }

    /// Counts one of something that is limited beside the routes, and says how many there are.
    async fn spend(&self, key: &str, window: Window, limit: u32, limited: &Counter) -> Result<u64, ApiError> {
        let count = self.count(key, window).await;
        if count.used > u64::from(limit) {
            limited.inc();
            return Err(ApiError::RateLimited {
                retry_after_seconds: count.retry_after_seconds(),
            });
        }
        Ok(count.used)
    }

    /// Counts one request.
    async fn count(&self, key: &str, window: Window) -> Count {
        let counted = self.redis.count(key, window).await;
        let store = if counted.is_some() {
            &self.counted.by_redis
        } else {
            &self.counted.in_memory
        };
        store.inc();
        self.report(counted.is_none());
        counted.unwrap_or_else(|| self.count_here(key, window))
    }

    fn count_here(&self, key: &str, window: Window) -> Count {
        let local = match window {
            Window::Minute => &self.minutes,
            Window::Hour => &self.hours,
        };
        local.count(key, self.clock.now().timestamp())
    }

    fn counted(&self, budget: Budget, count: Count) -> Counted {
        let limit = u64::from(self.limit(budget));
        let counted = Counted { count, limit };
        if counted.is_one_too_many() {
            self.counted.limited(budget).inc();
        }
        counted
    }

    /// Says once when Redis goes and once when it is back, not with every request.
    fn report(&self, falling_back: bool) {
        if self.falling_back.swap(falling_back, Ordering::Relaxed) != falling_back {
            tracing::warn!(
                falling_back,
                "rate limits: where requests are counted has changed"
            );
        }
    }
}

fn unknown_tokens_of(client: Option<ClientAddress>) -> String {
    format!("unknown_token:{}", of_address(client))
}

/// A client address as it stands in the keys of counts: `ip:192.0.2.7`.
fn of_address(client: Option<ClientAddress>) -> String {
    match client {
        Some(client) => format!("ip:{}", client.subscriber()),
        None => "ip:unknown".to_owned(),
    }
}

/// A request that was counted.
#[derive(Debug, Clone, Copy)]
pub struct Counted {
    count: Count,
    limit: u64,
}

impl Counted {
    const fn is_one_too_many(self) -> bool {
        self.count.used > self.limit
    }

    /// 429 when it was one too many.
    pub fn refusal(self) -> Option<ApiError> {
        self.is_one_too_many().then(|| ApiError::RateLimited {
            retry_after_seconds: self.count.retry_after_seconds(),
        })
    }

    /// The three headers of every answer.
    pub fn announce(self, headers: &mut HeaderMap) {
        let remaining = self.limit.saturating_sub(self.count.used);
        headers.insert(LIMIT, HeaderValue::from(self.limit));
        headers.insert(REMAINING, HeaderValue::from(remaining));
        headers.insert(RESET, HeaderValue::from(self.count.resets_at()));
    }
}

/// Where a request is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Store {
    /// Together with those of all ingests.
    Shared,
    /// In this process, which is cheaper than asking: what is turned away whatever its count.
    Here,
}

/// Counts a request of a route.
pub async fn count_request(
    app: &App,
    budget: Budget,
    credential: Credential,
    client: Option<ClientAddress>,
    store: Store,
) -> Counted {
    let key = key(budget, &app.directory, credential, client);
    let count = match store {
        Store::Shared => app.limits.count(&key, Window::Minute).await,
        Store::Here => app.limits.count_here(&key, Window::Minute),
    };
    app.limits.counted(budget, count)
}

/// `<budget>:<who>`. A key is known by the start of its hash. One that is nobody's, as far as this ingest has heard,
/// counts by address, so that inventing keys buys nothing; a new one does until its first request has been answered.
fn key(
    budget: Budget,
    directory: &Directory,
    credential: Credential,
    client: Option<ClientAddress>,
) -> String {
    let name = budget.name();
    if let Credential::Program(hash) = credential
        && budget.is_by_key()
        && directory.heard_of(&hash).is_some()
    {
        let start: u64 = hash
            .as_bytes()
            .iter()
            .take(8)
            .fold(0, |start, byte| start << 8 | u64::from(*byte));
        return format!("{name}:key:{start:016x}");
    }
    format!("{name}:{}", of_address(client))
}
