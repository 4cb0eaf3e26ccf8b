//! `ctl migrate`.

use std::time::Duration;

use anyhow::{Context, bail, ensure};
use clap::Args;
use runtime::retry::{RetryPolicy, retry};
use sqlx::PgPool;
use sqlx::migrate::MigrateError;

use crate::progress;

/// A migration soon stops waiting for a lock, because later statements wait behind it. It is retried for some
/// minutes.
const RETRY: RetryPolicy = RetryPolicy {
    first_delay: Duration::from_millis(500),
    max_delay: Duration::from_secs(5),
    max_attempts: 60,
    max_elapsed: None,
};

#[derive(Debug, Args)]
pub struct Migrate {
    /// Fail unless the roles of services and readers exist: some installations create them after the database
    #[arg(long)]
    require_roles: bool,
}

impl Migrate {
    pub async fn run(self, pool: &PgPool) -> anyhow::Result<()> {
        if self.require_roles {
            ensure!(
                storage::has_roles(pool).await?,
                "the roles of services and readers are not there yet"
            );
        }
        let spinner = progress::waiting("Migrating the database");
        let migrated = retry(&RETRY, || storage::migrate(pool), storage::gave_up_waiting).await;
        spinner.finish_and_clear();
        if let Err(MigrateError::VersionMissing(version)) = migrated {
            storage::refuse_earlier_migration(version)?;
            bail!(
                "a newer release has migrated this database: it has migration {version}, which this ctl does not know. Nothing was changed. \
                 To go back to this release, start its services without `ctl migrate`; otherwise run the newer release's ctl (docs/upgrade.md)"
            );
        }
        migrated.context("migrating the database")
    }
}
