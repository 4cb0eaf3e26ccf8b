//! Programs, tokens and referral links, held in memory so that a click asks nobody.
//!
//! Kept true in four ways, each covering for the one before:
//! 1. **Push**: triggers notify `directory` with the row that changed; the listener re-reads that row. An answer to a ping comes after
//!    all notifications that were committed before it: the listener pings four times a second, and whenever a change is to be
//!    heard of before it is answered ([`Directory::hear`]).
//! 2. **Catch-up**: every few seconds, and first thing after a reconnect, rows changed since the last look are read
//!    (with an overlap, because a transaction may commit after a later one was seen).
//! 3. **Miss**: a code, token or program not in memory is looked up, all that wait in one query.
//! 4. **Not live**: from a second after the last answered ping, and while the listener reconnects, a token from memory is not
//!    believed (it may have been revoked): it is looked up. Where that fails it is believed for a minute after the last answered
//!    ping: in an outage nobody can revoke one, and what is sent meanwhile is kept. A link is believed always.
//!
//! Lock: one `RwLock`, held for map operations only, never across an await. Rows that come back in another order than
//! they were asked for are kept apart by [`memory::Look`].

mod memory;

use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::time::Duration;

use anyhow::Context;
use chrono::TimeDelta;
use domain::ids::{ProgramId, ReferralLinkId};
use domain::key_rotation::KeyRotation;
use domain::token::TokenHash;
use domain::tracking_token::TokenScopes;
use runtime::batch::{Batcher, Bounds};
use runtime::clock::Clock;
use runtime::lifecycle::Lifecycle;
use runtime::metrics::serve::Sources;
use runtime::metrics::{Counter, DIRECTORY_LIVE, DIRECTORY_LOOKUPS};
use runtime::postgres;
use runtime::retry::{RetryPolicy, retry};
use sqlx::postgres::{PgListener, PgNotification};
use sqlx::{Acquire, Connection, PgPool};
use storage::directory::{self as stored, Selection};
use storage::{StorageError, StorageResult, tracking_tokens};
use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, MissedTickBehavior};

use self::memory::Memory;

const CHANNEL: &str = "directory";
const CATCH_UP_EVERY: Duration = Duration::from_secs(5);
const HEAR_EVERY: Duration = Duration::from_millis(250);
/// Without an answered ping for this long, tokens are looked up instead of believed.
const LIVE_FOR: Duration = Duration::from_secs(1);
/// And for this long where they cannot be looked up either: a failover is over by then.
const TRUSTED_FOR: Duration = Duration::from_mins(1);
/// A token's use is noted at most this often: it is to be seen which ones can be taken away.
const USE_IS_NOTED_EVERY: Duration = Duration::from_hours(1);
/// So many wait to be told that all has been heard of; more wait to ask.
const ASKING: usize = 64;
/// The longest a writing transaction may take without its change being missed by a catch-up.
const OVERLAP: TimeDelta = TimeDelta::seconds(60);
const RECONNECT: RetryPolicy =
    RetryPolicy::until_shutdown(Duration::from_millis(100), Duration::from_secs(2));

/// A referral link with what a click needs of its program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Link {
    Active {
        referral_link_id: ReferralLinkId,
        program_id: ProgramId,
        cookie_window_days: u16,
    },
    Inactive,
    /// Without partner or program.
    Misconfigured,
}

/// A program as its tracking token opens it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProgramKey {
    pub program_id: ProgramId,
    /// What the token is for.
    pub scopes: TokenScopes,
    /// Then it opens refunds only.
    pub archived: bool,
    /// Set when the token is marked for rotation.
    pub rotation: Option<KeyRotation>,
}

/// The directory could not be asked.
#[derive(Debug, Clone, thiserror::Error)]
#[error("directory look-up failed: {0}")]
pub struct Unavailable(Arc<anyhow::Error>);

#[derive(Debug, Clone)]
pub struct Directory {
    memory: Arc<RwLock<Memory>>,
    links: Batcher<String, Result<(), Unavailable>>,
    tokens: Batcher<TokenHash, Result<(), Unavailable>>,
    programs: Batcher<ProgramId, Result<(), Unavailable>>,
    asking: mpsc::Sender<oneshot::Sender<()>>,
    lookups: Lookups,
}

/// How often memory was enough.
#[derive(Debug, Clone)]
struct Lookups {
    links: HitOrMiss,
    tokens: HitOrMiss,
    programs: HitOrMiss,
}

#[derive(Debug, Clone)]
struct HitOrMiss {
    hits: Counter,
    misses: Counter,
}

impl HitOrMiss {
    fn of(what: &str) -> Self {
        Self {
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
}

impl Directory {
    /// Loads everything and keeps it true until shutdown.
    pub async fn start(pool: PgPool, clock: Clock, lifecycle: &Lifecycle) -> anyhow::Result<Self> {
        let memory = Arc::new(RwLock::new(Memory::default()));
        let load = || catch_up(&pool, &memory);
        retry(&postgres::STARTUP_RETRY, load, StorageError::is_transient)
            .await
            .context("loading the directory")?;
        let (asking, asked) = mpsc::channel(ASKING);
        let asked = Asked {
            asking: asked,
            waiting: Vec::new(),
        };
        let follower = follow(pool.clone(), clock, Arc::clone(&memory), asked);
        let stop = lifecycle.soft().clone();
        lifecycle
            .tasks()
            .spawn(async move { stop.run_until_cancelled(follower).await });
        let bounds = |name| Bounds {
            name,
            queue: 4096,
            max_records: 1024,
            max_weight: usize::MAX,
            in_flight: 1,
            pace: Duration::ZERO,
        };
        Ok(Self {
            links: Batcher::spawn(lifecycle.tasks(), bounds("directory.links"), |_| 1, {
                let (pool, memory) = (pool.clone(), Arc::clone(&memory));
                move |codes: Vec<String>| look_up_links(pool.clone(), Arc::clone(&memory), codes)
            }),
            tokens: Batcher::spawn(lifecycle.tasks(), bounds("directory.tokens"), |_| 1, {
                let (pool, memory) = (pool.clone(), Arc::clone(&memory));
                move |hashes: Vec<TokenHash>| look_up_tokens(pool.clone(), Arc::clone(&memory), hashes)
            }),
            programs: Batcher::spawn(lifecycle.tasks(), bounds("directory.programs"), |_| 1, {
                let (pool, memory) = (pool, Arc::clone(&memory));
                move |ids: Vec<ProgramId>| look_up_programs(pool.clone(), Arc::clone(&memory), ids)
            }),
            memory,
            asking,
            lookups: Lookups {
                links: HitOrMiss::of("link"),
                tokens: HitOrMiss::of("token"),
                programs: HitOrMiss::of("program"),
            },
        })
    }

    /// Returns when what was committed by now is in memory. Where news does not get through, tokens are looked up by then.
    pub async fn hear(&self) {
        let (heard, answer) = oneshot::channel();
        let hear = async {
            self.asking.send(heard).await.ok()?;
            answer.await.ok()
        };
        // However it ends: without an answer memory is not live any more.
        drop(tokio::time::timeout(LIVE_FOR, hear).await);
    }

    /// Shows whether news gets through.
    pub fn show(&self, sources: Sources) -> Sources {
        let (memory, live) = (Arc::clone(&self.memory), DIRECTORY_LIVE.with([]));
        sources.and(move || {
            live.set(if read(&memory).is_live() { 1.0 } else { 0.0 });
            std::future::ready(())
        })
    }

    /// The link with this short code.
    pub async fn link(&self, code: &str) -> Result<Option<Link>, Unavailable> {
        let known = read(&self.memory).link(code);
        self.lookups.links.count(known.is_some());
        if known.is_some() {
            return Ok(known);
        }
        self.links
            .submit(code.to_owned())
            .await
            .map_err(Unavailable::new)??;
        Ok(read(&self.memory).link(code))
    }

    /// The program whose tracking token this was when news last came. Asks nobody.
    pub fn heard_of(&self, hash: &TokenHash) -> Option<ProgramKey> {
        read(&self.memory).program_of_token(hash)
    }

    /// The program whose tracking token has this hash.
    pub async fn program_of_token(&self, hash: TokenHash) -> Result<Option<ProgramKey>, Unavailable> {
        let known = read(&self.memory).program_of_live_token(&hash);
        self.lookups.tokens.count(known.is_some());
        if known.is_some() {
            return Ok(known);
        }
        match self.tokens.submit(hash).await.map_err(Unavailable::new) {
            Ok(Ok(())) => Ok(read(&self.memory).program_of_token(&hash)),
            Ok(Err(error)) | Err(error) => {
                let trusted = read(&self.memory).program_of_trusted_token(&hash);
                trusted.map(Some).ok_or(error)
            }
        }
    }

    /// Whether there is such a program. Programs are never removed, so memory is believed.
    pub async fn has_program(&self, program_id: ProgramId) -> Result<bool, Unavailable> {
        let is_known = || read(&self.memory).has_program(program_id);
        let known = is_known();
        self.lookups.programs.count(known);
        if known {
            return Ok(true);
        }
        self.programs
            .submit(program_id)
            .await
            .map_err(Unavailable::new)??;
        Ok(is_known())
    }
}

impl Unavailable {
    fn new(error: impl Into<anyhow::Error>) -> Self {
        Self(Arc::new(error.into()))
    }
}

/// Those who wait until what was committed before they asked has been heard of.
struct Asked {
    asking: mpsc::Receiver<oneshot::Sender<()>>,
    waiting: Vec<oneshot::Sender<()>>,
}

/// Listens and catches up, for ever.
async fn follow(pool: PgPool, clock: Clock, memory: Arc<RwLock<Memory>>, mut asked: Asked) {
    loop {
        let connected = retry(
            &RECONNECT,
            || connect(&pool, &memory),
            |error| {
                tracing::warn!(
                    error = format!("{error:#}"),
                    "directory: cannot listen, trying again"
                );
                true
            },
        );
        // The policy never gives up: an error does not get here.
        let Ok(listener) = connected.await else { continue };
        if let Err(error) = listen(listener, &pool, &clock, &memory, &mut asked).await {
            write(&memory).live_until = None;
            asked.waiting.clear();
            tracing::warn!(
                error = format!("{error:#}"),
                "directory: lost its listener, reconnecting"
            );
        }
    }
}

/// A listener that has missed nothing: changes were caught up with once it listened.
async fn connect(pool: &PgPool, memory: &RwLock<Memory>) -> anyhow::Result<PgListener> {
    let mut listener = PgListener::connect_with(pool).await?;
    listener.listen(CHANNEL).await?;
    catch_up(pool, memory).await?;
    Ok(listener)
}

/// Returns when the connection is lost.
async fn listen(
    mut listener: PgListener,
    pool: &PgPool,
    clock: &Clock,
    memory: &RwLock<Memory>,
    asked: &mut Asked,
) -> anyhow::Result<()> {
    let mut catch_ups = tokio::time::interval_at(Instant::now() + CATCH_UP_EVERY, CATCH_UP_EVERY);
    let mut pings = tokio::time::interval(HEAR_EVERY);
    pings.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        let first = tokio::select! {
            _ = catch_ups.tick() => {
                catch_up(pool, memory).await?;
                note_uses(pool, clock, memory).await?;
                continue;
            }
            _ = pings.tick() => None,
            _ = asked.asking.recv_many(&mut asked.waiting, ASKING), if !asked.asking.is_closed() => None,
            notification = listener.try_recv() => Some(notification?.context("connection lost")?),
        };
        hear(&mut listener, first, pool, memory).await?;
        for heard in asked.waiting.drain(..) {
            // Who cannot be told has gone meanwhile.
            let _ = heard.send(());
        }
    }
}

/// Re-reads all rows that were named by what was committed before this was called, `first` among them.
async fn hear(
    listener: &mut PgListener,
    first: Option<PgNotification>,
    pool: &PgPool,
    memory: &RwLock<Memory>,
) -> anyhow::Result<()> {
    let started = Instant::now();
    let ping = async { listener.acquire().await?.ping().await };
    tokio::time::timeout(LIVE_FOR, ping)
        .await
        .context("a ping was not answered")??;
    let buffered = std::iter::from_fn(|| listener.next_buffered());
    let (mut programs, mut links) = (Vec::new(), Vec::new());
    for notification in first.into_iter().chain(buffered) {
        match notification.payload().split_once(':') {
            Some(("program", id)) => programs.push(id.parse()?),
            Some(("referral_link", id)) => links.push(id.parse()?),
            _ => tracing::warn!(
                payload = notification.payload(),
                "directory: notification of an unknown kind"
            ),
        }
    }
    if !programs.is_empty() {
        put_programs(pool, memory, &Selection::Ids(programs)).await?;
    }
    if !links.is_empty() {
        put_links(pool, memory, &Selection::Ids(links)).await?;
    }
    write(memory).heard(started);
    Ok(())
}

/// What may have changed since the last look.
fn changed(memory: &RwLock<Memory>) -> Selection {
    Selection::ChangedSince(read(memory).changed_at().map(|latest| latest - OVERLAP))
}

async fn catch_up(pool: &PgPool, memory: &RwLock<Memory>) -> StorageResult<()> {
    let started = Instant::now();
    let changed = changed(memory);
    put_programs(pool, memory, &changed).await?;
    put_links(pool, memory, &changed).await?;
    write(memory).heard(started);
    Ok(())
}

async fn note_uses(pool: &PgPool, clock: &Clock, memory: &RwLock<Memory>) -> StorageResult<()> {
    let used = write(memory).take_uses(Instant::now());
    if used.is_empty() {
        return Ok(());
    }
    tracking_tokens::note_uses(pool, &used, clock.now()).await
}

async fn put_programs(pool: &PgPool, memory: &RwLock<Memory>, selection: &Selection) -> StorageResult<()> {
    let look = write(memory).look();
    let programs = stored::programs(pool, selection).await?;
    let mut memory = write(memory);
    for program in programs {
        memory.put_program(program, look);
    }
    Ok(())
}

async fn put_links(pool: &PgPool, memory: &RwLock<Memory>, selection: &Selection) -> StorageResult<()> {
    let look = write(memory).look();
    let links = stored::links(pool, selection).await?;
    let mut memory = write(memory);
    for link in links {
        memory.put_link(link, look);
    }
    Ok(())
}

/// One query for all the codes that wait; what exists is in memory afterwards.
async fn look_up_links(
    pool: PgPool,
    memory: Arc<RwLock<Memory>>,
    codes: Vec<String>,
) -> Vec<Result<(), Unavailable>> {
    let looked_up = async {
        let ids = stored::link_ids_by_code(&pool, &codes).await?;
        if !ids.is_empty() {
            // The link may be as new as its program.
            put_programs(&pool, &memory, &changed(&memory)).await?;
            put_links(&pool, &memory, &Selection::Ids(ids)).await?;
        }
        anyhow::Ok(())
    };
    let answer = looked_up.await.map_err(Unavailable::new);
    vec![answer; codes.len()]
}

/// One query for all the tokens that wait. A token that is in memory but not in the table was replaced.
async fn look_up_tokens(
    pool: PgPool,
    memory: Arc<RwLock<Memory>>,
    hashes: Vec<TokenHash>,
) -> Vec<Result<(), Unavailable>> {
    let looked_up = async {
        let mut ids = stored::program_ids_by_token(&pool, &hashes).await?;
        ids.extend(
            hashes
                .iter()
                .filter_map(|hash| read(&memory).owner(hash).map(ProgramId::get)),
        );
        if !ids.is_empty() {
            put_programs(&pool, &memory, &Selection::Ids(ids)).await?;
        }
        anyhow::Ok(())
    };
    let answer = looked_up.await.map_err(Unavailable::new);
    vec![answer; hashes.len()]
}

/// One query for all the programs that wait; what exists is in memory afterwards.
async fn look_up_programs(
    pool: PgPool,
    memory: Arc<RwLock<Memory>>,
    programs: Vec<ProgramId>,
) -> Vec<Result<(), Unavailable>> {
    let ids = programs.iter().map(|program_id| program_id.get()).collect();
    let looked_up = put_programs(&pool, &memory, &Selection::Ids(ids)).await;
    let answer = looked_up.map_err(Unavailable::new);
    vec![answer; programs.len()]
}

/// A panic while the lock was held leaves maps that are still maps.
fn read(memory: &RwLock<Memory>) -> RwLockReadGuard<'_, Memory> {
    memory.read().unwrap_or_else(PoisonError::into_inner)
}

fn write(memory: &RwLock<Memory>) -> RwLockWriteGuard<'_, Memory> {
    memory.write().unwrap_or_else(PoisonError::into_inner)
}
