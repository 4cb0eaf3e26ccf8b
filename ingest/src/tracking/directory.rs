//! Programs, tokens and referral links, cached in memory so that a click needs no query.
//!
//! Four mechanisms keep the directory current. Each covers for the one before:
//! 1. **Push**: triggers notify `directory` with the changed row, and the listener re-reads it. The answer to
//!    a ping comes after all notifications that were committed before the ping. The listener pings four times
//!    a second, and whenever a change must be read before its route answers ([`Directory::sync`]).
//! 2. **Catch-up**: every few seconds, and right after a reconnect, the directory reads the rows that changed
//!    since the last read (with an overlap, because a transaction may commit after a later one was read).
//! 3. **Miss**: a code, token or program that is not in memory is looked up. All waiting lookups share one
//!    query.
//! 4. **Not live**: from a second after the last answered ping, and while the listener reconnects, a cached
//!    token is not trusted, because it may have been revoked: it is looked up. If the lookup fails, the token
//!    is trusted for a minute after the last answered ping: in an outage no token can be revoked, and
//!    requests must not be lost. A link is always trusted.
//!
//! Lock: one `RwLock`, held for map operations only, never across an await. Queries may return in another
//! order than they were sent; [`entries::ReadNumber`] orders their rows.

mod cache;
mod entries;
mod follow;

use std::time::Duration;

use anyhow::Context;
use domain::ids::ProgramId;
use domain::token::TokenHash;
use runtime::batch::{Batcher, Bounds};
use runtime::clock::Clock;
use runtime::lifecycle::Lifecycle;
use runtime::metrics::serve::Sources;
use runtime::metrics::{Counter, DIRECTORY_LIVE, DIRECTORY_LOOKUPS};
use runtime::postgres;
use runtime::retry::retry;
use sqlx::PgPool;
use storage::StorageError;
use tokio::sync::{mpsc, oneshot};

use self::cache::Cache;
use self::entries::LIVE_FOR;
use self::follow::{CONFIRMED_TOGETHER, Waiting, follow};

pub use self::cache::Unavailable;
pub use self::entries::{ActiveLink, Link, ProgramKey};

#[derive(Debug, Clone)]
pub struct Directory {
    cache: Cache,
    links: Lookups<String>,
    tokens: Lookups<TokenHash>,
    programs: Lookups<ProgramId>,
    sync_requests: mpsc::Sender<oneshot::Sender<()>>,
}

/// Lookups of misses, in batches, and how often a lookup was needed.
#[derive(Debug, Clone)]
struct Lookups<K> {
    batcher: Batcher<K, Result<(), Unavailable>>,
    hits: Counter,
    misses: Counter,
}

impl<K: Send + 'static> Lookups<K> {
    fn spawn<F>(
        lifecycle: &Lifecycle,
        name: &'static str,
        what: &str,
        look_up: impl Fn(Vec<K>) -> F + Send + 'static,
    ) -> Self
    where
        F: Future<Output = Vec<Result<(), Unavailable>>> + Send + 'static,
    {
        let bounds = Bounds {
            name,
            queue: 4096,
            max_records: 1024,
            max_weight: usize::MAX,
            in_flight: 1,
            pace: Duration::ZERO,
        };
        Self {
            batcher: Batcher::spawn(lifecycle.tasks(), bounds, |_| 1, look_up),
            hits: DIRECTORY_LOOKUPS.with([what, "hit"]),
            misses: DIRECTORY_LOOKUPS.with([what, "miss"]),
        }
    }

    fn count(&self, hit: bool) {
        if hit {
            self.hits.inc()
        } else {
            self.misses.inc()
        };
    }

    async fn look_up(&self, key: K) -> Result<(), Unavailable> {
        self.batcher.submit(key).await.map_err(Unavailable::new)?
    }
}

impl Directory {
    /// Loads everything, and keeps it current until shutdown.
    pub async fn start(pool: PgPool, clock: Clock, lifecycle: &Lifecycle) -> anyhow::Result<Self> {
        let cache = Cache::new(pool);
        retry(
            &postgres::STARTUP_RETRY,
            || cache.catch_up(),
            StorageError::is_transient,
        )
        .await
        .context("loading the directory")?;
        let (sync_requests, received) = mpsc::channel(CONFIRMED_TOGETHER);
        let follower = follow(cache.clone(), clock, Waiting::new(received));
        let stop = lifecycle.soft().clone();
        lifecycle
            .tasks()
            .spawn(async move { stop.run_until_cancelled(follower).await });
        let [for_links, for_tokens, for_programs] = [(); 3].map(|()| cache.clone());
        Ok(Self {
            cache,
            links: Lookups::spawn(lifecycle, "directory.links", "link", move |codes| {
                for_links.clone().look_up_links(codes)
            }),
            tokens: Lookups::spawn(lifecycle, "directory.tokens", "token", move |hashes| {
                for_tokens.clone().look_up_tokens(hashes)
            }),
            programs: Lookups::spawn(lifecycle, "directory.programs", "program", move |ids| {
                for_programs.clone().look_up_programs(ids)
            }),
            sync_requests,
        })
    }

    /// Returns when everything committed before the call is in memory. If notifications do not arrive, it
    /// returns when the entries are no longer live, so that tokens are looked up.
    pub async fn sync(&self) {
        let (confirmed, answer) = oneshot::channel();
        let confirmation = async {
            self.sync_requests.send(confirmed).await.ok()?;
            answer.await.ok()
        };
        // A timeout is fine too: without a confirmation the entries are no longer live.
        drop(tokio::time::timeout(LIVE_FOR, confirmation).await);
    }

    pub fn show(&self, sources: Sources) -> Sources {
        let (cache, live) = (self.cache.clone(), DIRECTORY_LIVE.with([]));
        sources.and(move || {
            live.set(if cache.read().is_live() { 1.0 } else { 0.0 });
            std::future::ready(())
        })
    }

    pub async fn link(&self, code: &str) -> Result<Option<Link>, Unavailable> {
        let cached = self.cache.read().link(code);
        self.links.count(cached.is_some());
        if cached.is_some() {
            return Ok(cached);
        }
        self.links.look_up(code.to_owned()).await?;
        Ok(self.cache.read().link(code))
    }

    /// The program of this tracking token as last read, without a query.
    pub fn cached_program(&self, hash: &TokenHash) -> Option<ProgramKey> {
        self.cache.read().program_of_token(hash)
    }

    pub async fn program_of_token(&self, hash: TokenHash) -> Result<Option<ProgramKey>, Unavailable> {
        let cached = self.cache.read().program_of_live_token(&hash);
        self.tokens.count(cached.is_some());
        if cached.is_some() {
            return Ok(cached);
        }
        match self.tokens.look_up(hash).await {
            Ok(()) => Ok(self.cached_program(&hash)),
            Err(error) => {
                let trusted = self.cache.read().program_of_trusted_token(&hash);
                trusted.map(Some).ok_or(error)
            }
        }
    }

    /// Whether the program exists. Programs are never removed, so memory is trusted.
    pub async fn has_program(&self, program_id: ProgramId) -> Result<bool, Unavailable> {
        let is_cached = || self.cache.read().has_program(program_id);
        let cached = is_cached();
        self.programs.count(cached);
        if cached {
            return Ok(true);
        }
        self.programs.look_up(program_id).await?;
        Ok(is_cached())
    }
}
