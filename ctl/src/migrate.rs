//! `ctl migrate`.

use anyhow::{Context, ensure};
use clap::Args;
use sqlx::PgPool;

use crate::progress;

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
        let migrated = storage::migrate(pool).await;
        spinner.finish_and_clear();
        migrated.context("migrating the database")
    }
}
