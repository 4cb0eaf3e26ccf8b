//! All SQL of the service is in this crate.
//!
//! Functions take a connection (the caller owns the transaction) and whole batches: arrays go in through
//! `UNNEST`, rows come back through `RETURNING`. Rows that another transaction may lock are locked in
//! ascending key order. Tables are locked in the order that the migrations state: transaction_claims,
//! processor_refs, customers, sale_events, commissions, partner_program_balances, partner_balances,
//! processor_events.

#[macro_use]
mod batch;
pub mod error;
pub mod money;
pub mod operations;
pub mod outbound;
pub mod page;
pub mod people;
pub mod processor;
pub mod program;
pub mod reads;
pub mod snapshot;
pub mod tracking;

pub use error::{Retryable, StorageError, StorageResult, gave_up_waiting};

/// The migrations compiled into every program; `ctl migrate` applies them.
pub static MIGRATIONS: sqlx::migrate::Migrator = sqlx::migrate!("../../migrations");

/// Grants for the roles that services and readers connect with, where these roles exist.
pub const ROLES: &str = include_str!("roles.sql");

/// Whether both roles exist.
pub async fn has_roles(pool: &sqlx::PgPool) -> StorageResult<bool> {
    let found: i64 = sqlx::query_scalar(
        "SELECT count(*) FROM pg_roles WHERE rolname IN ('referral_tracker_service', 'referral_tracker_reads')",
    )
    .fetch_one(pool)
    .await?;
    Ok(found == 2)
}

/// Refuses a database that was created by a build from before the baseline schema. Services call it when they
/// start.
///
/// A database that a later release has migrated is accepted: it has all migrations of this release, and this
/// release runs on it until it is replaced.
pub async fn refuse_earlier_schema(pool: &sqlx::PgPool) -> StorageResult<()> {
    let earliest: Option<i64> = match sqlx::query_scalar("SELECT min(version) FROM _sqlx_migrations")
        .fetch_one(pool)
        .await
    {
        // The database has not been migrated yet.
        Err(sqlx::Error::Database(error)) if error.code().as_deref() == Some("42P01") => None,
        earliest => earliest?,
    };
    earliest.map_or(Ok(()), refuse_earlier_migration)
}

/// Refuses the version of a migration from before the baseline schema.
pub fn refuse_earlier_migration(version: i64) -> StorageResult<()> {
    let baseline = MIGRATIONS.iter().map(|migration| migration.version).min();
    if Some(version) < baseline {
        return Err(StorageError::EarlierSchema { version });
    }
    Ok(())
}

/// Applies the migrations without a statement timeout, and grants rights on new tables.
pub async fn migrate(pool: &sqlx::PgPool) -> Result<(), sqlx::migrate::MigrateError> {
    // The connection is closed at the end: its settings and its lock must not return to the pool.
    let mut connection = pool.acquire().await?.detach();
    migrate_on(&mut connection).await?;
    Ok(sqlx::Connection::close(connection).await?)
}

/// Waits until no other run migrates this database. It polls: the other run's `CREATE INDEX CONCURRENTLY`
/// would wait for a statement that waits for the lock. The lock belongs to the session.
async fn wait_for_other_runs(connection: &mut sqlx::PgConnection) -> sqlx::Result<()> {
    while !sqlx::query_scalar::<_, bool>("SELECT pg_try_advisory_lock(hashtextextended('migrate', 0))")
        .fetch_one(&mut *connection)
        .await?
    {
        sqlx::query("SELECT pg_sleep(0.2)")
            .execute(&mut *connection)
            .await?;
    }
    Ok(())
}

/// [`migrate`] on the caller's connection, which holds the lock until it is closed.
pub async fn migrate_on(connection: &mut sqlx::PgConnection) -> Result<(), sqlx::migrate::MigrateError> {
    sqlx::query("SET statement_timeout = 0")
        .execute(&mut *connection)
        .await?;
    wait_for_other_runs(connection).await?;
    MIGRATIONS.run(&mut *connection).await?;
    sqlx::raw_sql(ROLES).execute(&mut *connection).await?;
    Ok(())
}
