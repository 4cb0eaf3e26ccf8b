//! Counts of requests in this process, shared with the other ingests through Redis.
//!
//! Phases: **count** a request at once, without waiting → a caller becomes **due** once its unshared requests
//! reach a sixteenth of its limit, at most eight ([`Rule::shared_after`](super::rules::Rule::shared_after)) →
//! an **exchange**, at most every [`EXCHANGE_EVERY`], adds the counts of due callers to Redis in one script
//! and reads the totals of all ingests.
//!
//! Bounds: a single ingest counts exactly. Each of several ingests may admit, beyond a limit, the requests
//! that it has not shared yet and those that arrive before an exchange is answered. A caller is remembered
//! until at least [`GENERATION`] others have called; a forgotten caller gets its total back with its next
//! exchange. If an answer of Redis is lost, nothing is sent again, so the other ingests may never learn of
//! those requests.
//!
//! Windows begin and end by this process' clock, which PostgreSQL corrects.

use std::collections::HashMap;
use std::fmt;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use domain::token::TokenHash;
use runtime::clock::Clock;
use runtime::lifecycle::Lifecycle;
use tokio::sync::Notify;
use tokio::time::sleep;

use super::redis::{Addition, MAX_KEYS, RedisCounters};
use super::rules::Rule;
use super::window::{Count, Window};
use crate::http::client_address::ClientAddress;

const EXCHANGE_EVERY: Duration = Duration::from_millis(20);
/// Callers in each half of the table. The whole table takes about four megabytes.
const GENERATION: usize = 25_000;

/// The caller whose requests count together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Subject {
    /// The start of a program key's hash.
    Key(u64),
    /// The address that counts as one client; `None` if unknown.
    Client(Option<IpAddr>),
}

impl Subject {
    pub fn key(hash: TokenHash) -> Self {
        Self::Key(u64::from_be_bytes(
            hash.as_bytes().first_chunk().copied().unwrap_or_default(),
        ))
    }

    pub fn client(client: Option<ClientAddress>) -> Self {
        Self::Client(client.map(ClientAddress::subscriber))
    }
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Key(start) => write!(f, "key:{start:016x}"),
            Self::Client(Some(address)) => write!(f, "ip:{address}"),
            Self::Client(None) => f.write_str("ip:unknown"),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Caller {
    rule: &'static str,
    subject: Subject,
}

#[derive(Debug, Clone, Copy, Default)]
struct Used {
    /// The number of the window that is counted; a new entry has none yet.
    window: i64,
    /// Requests at all ingests, as of the last exchange.
    shared: u64,
    /// Requests at this ingest since the last exchange.
    unshared: u64,
}

impl Used {
    fn count(&mut self, window: i64) {
        if self.window != window {
            *self = Self {
                window,
                ..Self::default()
            };
        }
        self.unshared += 1;
    }
}

/// A caller whose count is to be added in Redis, and the window in which the count reached the threshold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Due {
    caller: Caller,
    window: Window,
    number: i64,
}

#[derive(Debug, Clone)]
pub struct Counts(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    table: Mutex<Table>,
    due: Notify,
}

/// Callers and their counts in two halves. When the recent half is full, it replaces the other, which holds
/// the callers that have not called since.
#[derive(Debug, Default)]
struct Table {
    recent: HashMap<Caller, Used>,
    before: HashMap<Caller, Used>,
    due: Vec<Due>,
}

impl Counts {
    /// Starts the exchanges; the first one waits for a due caller.
    pub fn start(redis: RedisCounters, lifecycle: &Lifecycle) -> Self {
        let counts = Self::alone();
        let (stop, exchanging) = (lifecycle.soft().clone(), counts.clone().exchange_all(redis));
        lifecycle
            .tasks()
            .spawn(async move { stop.run_until_cancelled(exchanging).await });
        counts
    }

    fn alone() -> Self {
        Self(Arc::new(Shared {
            table: Mutex::default(),
            due: Notify::new(),
        }))
    }

    pub fn count(&self, rule: &Rule, subject: Subject, clock: &Clock) -> Count {
        let caller = Caller {
            rule: rule.name,
            subject,
        };
        let mut table = self.table();
        // Read under the lock, so that the window of one request never precedes the window of an earlier
        // request.
        let now = clock.now().timestamp();
        let (used, is_due) = table.count(caller, rule, now);
        drop(table);
        if is_due {
            self.0.due.notify_one();
        }
        Count {
            window: rule.window,
            used,
            now,
        }
    }

    async fn exchange_all(self, redis: RedisCounters) {
        loop {
            self.0.due.notified().await;
            self.exchange(&redis).await;
            sleep(EXCHANGE_EVERY).await;
        }
    }

    async fn exchange(&self, redis: &RedisCounters) {
        let due = std::mem::take(&mut self.table().due);
        // Without Redis the counts stay unshared: the caller becomes due again later in its window.
        for due in due.chunks(MAX_KEYS).take_while(|_| redis.is_connected()) {
            let additions = self.table().take(due);
            if additions.is_empty() {
                continue;
            }
            let added: Vec<Addition> = additions.iter().map(|(due, used)| due.addition(*used)).collect();
            if let Some(totals) = redis.add(&added).await {
                self.table().learn(&additions, &totals);
            }
        }
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        self.0.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Table {
    /// The caller's total, and whether this request makes the caller due.
    fn count(&mut self, caller: Caller, rule: &Rule, now: i64) -> (u64, bool) {
        let number = rule.window.number(now);
        let used = self.remember(caller);
        used.count(number);
        let used = *used;
        // Without exchanges the list stays bounded; an omitted caller becomes due again.
        let is_due = used.unshared.is_multiple_of(rule.shared_after()) && self.due.len() < GENERATION;
        if is_due {
            self.due.push(Due {
                caller,
                window: rule.window,
                number,
            });
        }
        (used.shared + used.unshared, is_due)
    }

    /// The caller's entry, moved to the recent half.
    fn remember(&mut self, caller: Caller) -> &mut Used {
        if self.recent.len() >= GENERATION && !self.recent.contains_key(&caller) {
            std::mem::swap(&mut self.recent, &mut self.before);
            self.recent.clear();
        }
        let known = || self.before.remove(&caller).unwrap_or_default();
        self.recent.entry(caller).or_insert_with(known)
    }

    fn find(&mut self, due: &Due) -> Option<&mut Used> {
        let used = match self.recent.get_mut(&due.caller) {
            Some(used) => used,
            None => self.before.get_mut(&due.caller)?,
        };
        (used.window == due.number).then_some(used)
    }

    /// Takes the unshared counts of these callers. Callers whose window is over are left out.
    fn take(&mut self, due: &[Due]) -> Vec<(Due, u64)> {
        due.iter()
            .filter_map(|due| {
                let used = self.find(due).filter(|used| used.unshared > 0)?;
                let unshared = std::mem::take(&mut used.unshared);
                used.shared += unshared;
                Some((*due, unshared))
            })
            .collect()
    }

    /// Totals never fall: a Redis that was emptied knows less than this process.
    fn learn(&mut self, additions: &[(Due, u64)], totals: &[u64]) {
        for ((due, _), total) in additions.iter().zip(totals) {
            if let Some(used) = self.find(due) {
                used.shared = used.shared.max(*total);
            }
        }
    }
}

impl Due {
    fn addition(self, used: u64) -> Addition {
        let Caller { rule, subject } = self.caller;
        Addition {
            key: format!("{rule}:{subject}"),
            window: self.window,
            number: self.number,
            used,
        }
    }
}

#[cfg(test)]
mod tests;
