//! The only home of SQL.
//!
//! Functions take a connection (the caller owns the transaction) and whole batches: arrays go in through
//! `UNNEST`, rows come back through `RETURNING`. Rows that another transaction may want are locked in ascending
//! key order, tables in the order the migrations state: transaction_claims, processor_refs, customers, sale_events,
//! commissions, partner_program_balances, partner_balances, processor_events.

pub mod adjustments;
mod alone;
pub mod audit_log;
pub mod by_hand;
pub mod claims;
pub mod cli_logins;
pub mod clicks;
pub mod commission_lists;
pub mod commissions;
pub mod customer_ids;
pub mod customers;
pub mod dashboard;
pub mod dead_letters;
pub mod directory;
pub mod duplicate_sales;
pub mod error;
pub mod events;
pub mod invitations;
pub mod leads;
pub mod ledger;
pub mod links;
pub mod management_keys;
pub mod members;
pub mod notifications;
pub mod outbox;
pub mod partitions;
pub mod partner_view;
pub mod partners;
pub mod passkeys;
pub mod payouts;
pub mod personal_data;
pub mod pipeline_status;
pub mod policies;
pub mod processor_accounts;
pub mod processor_connections;
pub mod processor_customers;
pub mod processor_events;
pub mod processor_inbox;
pub mod processor_refs;
pub mod processor_reversals;
pub mod program_health;
pub mod program_overview;
pub mod program_settings;
pub mod programs;
pub mod reassessments;
pub mod refunds;
pub mod refused_events;
pub mod rollups;
pub mod sales;
pub mod second_factors;
pub mod sessions;
pub mod subscription_periods;
pub mod subscriptions;
pub mod test_chains;
pub mod test_events;
pub mod tracking_setup;
pub mod tracking_tokens;
pub mod users;
pub mod verify;
pub mod window;
pub mod workspaces;

pub use error::{Prospect, StorageError, StorageResult};

/// The migrations compiled into every binary; `ctl migrate` applies them.
pub static MIGRATIONS: sqlx::migrate::Migrator = sqlx::migrate!("../../migrations");

/// Rights of the roles that services and readers connect with, where there are such roles.
pub const ROLES: &str = include_str!("roles.sql");

/// Whether both roles are there to be granted what they need.
pub async fn has_roles(pool: &sqlx::PgPool) -> StorageResult<bool> {
    let found: i64 = sqlx::query_scalar(
        "SELECT count(*) FROM pg_roles WHERE rolname IN ('referral_tracker_service', 'referral_tracker_reads')",
    )
    .fetch_one(pool)
    .await?;
    Ok(found == 2)
}

/// Applies them, however long one of them takes, and grants what is new.
pub async fn migrate(pool: &sqlx::PgPool) -> Result<(), sqlx::migrate::MigrateError> {
    let mut connection = pool.acquire().await?;
    sqlx::query("SET statement_timeout = 0")
        .execute(&mut *connection)
        .await?;
    MIGRATIONS.run(&mut *connection).await?;
    sqlx::raw_sql(ROLES).execute(&mut *connection).await?;
    Ok(())
}

/// A PostgreSQL array literal, for arrays inside a batch: `UNNEST` flattens nested arrays, so the inner ones
/// travel as text. For values that need no quoting beyond double quotes (numbers, timestamps).
fn array_literal<T: std::fmt::Display>(values: impl IntoIterator<Item = T>) -> String {
    let quoted: Vec<String> = values.into_iter().map(|value| format!("\"{value}\"")).collect();
    format!("{{{}}}", quoted.join(","))
}
