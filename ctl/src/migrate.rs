//! `ctl migrate`.

use anyhow::Context;
use common::storage;
use sqlx::PgPool;

use crate::progress;

pub async fn run(pool: &PgPool) -> anyhow::Result<()> {
    let spinner = progress::waiting("Migrating the database");
    let migrated = storage::migrate(pool).await;
    spinner.finish_and_clear();
    migrated.context("migrating the database")
}
