//! Stores user agents and page titles of many visitors once; their clicks refer to them by number.
//!
//! Visitors are counted in memory, by their first clicks. A text of few visitors stays in the row of its
//! click. It may identify a visitor, and must be deleted when that visitor is erased. Also, a text that never
//! comes again would cost an index entry instead of saving space. Counting starts from zero when the process
//! starts, and for a text that left the cache.
//!
//! Bounds: [`KEPT`] texts of [`LENGTHS`] bytes. A known text is stored again each hour, so that a database
//! restored from a backup soon has it.

use std::collections::HashMap;
use std::ops::RangeInclusive;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU32, Ordering};

use chrono::{DateTime, Utc};
use domain::text::Text;
use messages::click::ClickRecord;
use quick_cache::sync::Cache;
use sha2::{Digest, Sha256};
use sqlx::PgPool;
use storage::StorageResult;
use storage::tracking::shared_texts::{self, SharedIds};

/// From this number of visitors on, a text identifies no single visitor.
const MANY: u32 = 100;
const KEPT: usize = 8192;
/// Shorter texts are hardly longer than a number.
const LENGTHS: RangeInclusive<usize> = 16..=1024;

#[derive(Debug)]
pub struct SharedTexts {
    pool: PgPool,
    known: Cache<Box<str>, Arc<Known>>,
}

#[derive(Debug, Default)]
struct Known {
    visitors: AtomicU32,
    /// Hours since 1970, by the clock.
    stored_in_hour: AtomicI64,
}

impl SharedTexts {
    pub fn new(pool: PgPool) -> Self {
        Self {
            pool,
            known: Cache::new(KEPT),
        }
    }

    /// Returns the ids of the shared texts of these clicks. Their rows are stored by then.
    pub async fn of(
        &self,
        clicks: impl Iterator<Item = &ClickRecord>,
        now: DateTime<Utc>,
    ) -> StorageResult<SharedIds> {
        let hour = now.timestamp() / 3_600;
        let mut ids = SharedIds::new();
        let mut unstored: HashMap<&str, Arc<Known>> = HashMap::new();
        for click in clicks {
            for text in texts(click) {
                if ids.contains_key(text) {
                    continue;
                }
                let known = self.known(text);
                if known.count(click.new_customer) >= MANY {
                    ids.insert(text.into(), number(text));
                    if known.stored_in_hour.load(Ordering::Relaxed) != hour {
                        unstored.insert(text, known);
                    }
                }
            }
        }
        if !unstored.is_empty() {
            let rows: Vec<(i64, &str)> = unstored.keys().map(|&text| (number(text), text)).collect();
            shared_texts::insert(&self.pool, &rows).await?;
            for known in unstored.values() {
                known.stored_in_hour.store(hour, Ordering::Relaxed);
            }
        }
        Ok(ids)
    }

    fn known(&self, text: &str) -> Arc<Known> {
        self.known.get(text).unwrap_or_else(|| {
            let known = Arc::<Known>::default();
            self.known.insert(text.into(), Arc::clone(&known));
            known
        })
    }
}

impl Known {
    fn count(&self, new_visitor: bool) -> u32 {
        if new_visitor {
            self.visitors.fetch_add(1, Ordering::Relaxed).saturating_add(1)
        } else {
            self.visitors.load(Ordering::Relaxed)
        }
    }
}

fn texts(click: &ClickRecord) -> impl Iterator<Item = &str> {
    let visit = &click.visit;
    let texts = [
        visit.user_agent.as_ref().map(Text::as_str),
        visit.page_title.as_ref().map(Text::as_str),
    ];
    texts
        .into_iter()
        .flatten()
        .filter(|text| LENGTHS.contains(&text.len()))
}

fn number(text: &str) -> i64 {
    let digest = Sha256::digest(text);
    digest
        .first_chunk()
        .map_or(0, |beginning| i64::from_be_bytes(*beginning))
}
