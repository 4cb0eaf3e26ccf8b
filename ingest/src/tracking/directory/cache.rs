//! The entries in memory, and the database that they are read from.

use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use chrono::{DateTime, TimeDelta, Utc};
use domain::ids::ProgramId;
use domain::token::TokenHash;
use sqlx::PgPool;
use storage::StorageResult;
use storage::program::directory::{self as stored, Selection};
use storage::program::tracking_tokens;
use tokio::time::Instant;

use super::entries::Entries;

/// The longest duration of a writing transaction whose change a catch-up is sure to read.
const OVERLAP: TimeDelta = TimeDelta::seconds(60);

/// The database could not be reached.
#[derive(Debug, Clone, thiserror::Error)]
#[error("directory lookup failed: {0}")]
pub struct Unavailable(Arc<anyhow::Error>);

impl Unavailable {
    pub fn new(error: impl Into<anyhow::Error>) -> Self {
        Self(Arc::new(error.into()))
    }
}

#[derive(Debug, Clone)]
pub struct Cache {
    pub pool: PgPool,
    entries: Arc<RwLock<Entries>>,
}

impl Cache {
    pub fn new(pool: PgPool) -> Self {
        Self {
            pool,
            entries: Arc::default(),
        }
    }

    /// Ignores poisoning: a panic under the lock leaves the maps usable.
    pub fn read(&self) -> RwLockReadGuard<'_, Entries> {
        self.entries.read().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn write(&self) -> RwLockWriteGuard<'_, Entries> {
        self.entries.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads the rows that changed since the last read.
    pub async fn catch_up(&self) -> StorageResult<()> {
        let started = Instant::now();
        let changed = self.changed();
        self.refresh_programs(&changed).await?;
        self.refresh_links(&changed).await?;
        self.write().confirm(started);
        Ok(())
    }

    fn changed(&self) -> Selection {
        Selection::ChangedSince(self.read().changed_at().map(|latest| latest - OVERLAP))
    }

    pub async fn refresh_programs(&self, selection: &Selection) -> StorageResult<()> {
        let by = self.write().next_read();
        let programs = stored::programs(&self.pool, selection).await?;
        let mut entries = self.write();
        for program in programs {
            entries.put_program(program, by);
        }
        Ok(())
    }

    pub async fn refresh_links(&self, selection: &Selection) -> StorageResult<()> {
        let by = self.write().next_read();
        let links = stored::links(&self.pool, selection).await?;
        let mut entries = self.write();
        for link in links {
            entries.put_link(link, by);
        }
        Ok(())
    }

    /// Stores the last use of each used token.
    pub async fn note_uses(&self, now: DateTime<Utc>) -> StorageResult<()> {
        let used = self.write().take_uses(Instant::now());
        if used.is_empty() {
            return Ok(());
        }
        tracking_tokens::note_uses(&self.pool, &used, now).await
    }

    /// One query for all waiting codes; existing links are in memory afterwards.
    pub async fn look_up_links(self, codes: Vec<String>) -> Vec<Result<(), Unavailable>> {
        let looked_up = async {
            let ids = stored::link_ids_by_code(&self.pool, &codes).await?;
            if !ids.is_empty() {
                // The link's program may be as new as the link.
                self.refresh_programs(&self.changed()).await?;
                self.refresh_links(&Selection::Ids(ids)).await?;
            }
            Ok(())
        };
        shared(looked_up.await, codes.len())
    }

    /// One query for all waiting tokens. A token that is in memory but not in the table was replaced.
    pub async fn look_up_tokens(self, hashes: Vec<TokenHash>) -> Vec<Result<(), Unavailable>> {
        let looked_up = async {
            let mut ids = stored::program_ids_by_token(&self.pool, &hashes).await?;
            let owners = |hash| self.read().owner(hash).map(ProgramId::get);
            ids.extend(hashes.iter().filter_map(owners));
            if !ids.is_empty() {
                self.refresh_programs(&Selection::Ids(ids)).await?;
            }
            Ok(())
        };
        shared(looked_up.await, hashes.len())
    }

    /// One query for all waiting programs; existing ones are in memory afterwards.
    pub async fn look_up_programs(self, programs: Vec<ProgramId>) -> Vec<Result<(), Unavailable>> {
        let ids = programs.iter().map(|program_id| program_id.get()).collect();
        let looked_up = self.refresh_programs(&Selection::Ids(ids)).await;
        shared(looked_up, programs.len())
    }
}

/// The result of one query, for each caller that waited for it.
fn shared(answer: StorageResult<()>, waiting: usize) -> Vec<Result<(), Unavailable>> {
    vec![answer.map_err(Unavailable::new); waiting]
}
