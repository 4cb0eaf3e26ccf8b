//! PostgreSQL's figures about problems that build up slowly: archive, replicas, transactions and their ids.

use sqlx::PgConnection;

use crate::error::StorageResult;

/// A field is `None` when the role may not read it, or when the server has no such thing.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ServerStatus {
    /// Time since the last WAL segment was archived. 0 if the last attempt succeeded, and without an archive.
    pub unarchived_seconds: Option<f64>,
    /// WAL kept for the replication slot that is furthest behind.
    pub slot_bytes: Option<f64>,
    /// Lag of the replica that is furthest behind.
    pub replay_lag_seconds: Option<f64>,
    /// Transactions since the oldest unfrozen one, of 2^31.
    pub transaction_id_age: Option<f64>,
    /// Age of the oldest open transaction.
    pub oldest_transaction_seconds: Option<f64>,
}

/// Reads the figures with one statement over system views, without reading tables.
///
/// Every role may read the archiver, slots and ids. Only roles with `pg_read_all_stats` see the times of
/// replicas and of other roles' sessions.
pub async fn read(connection: &mut PgConnection) -> StorageResult<ServerStatus> {
    Ok(fetch_one!(
        connection,
        ServerStatus,
        "SELECT (SELECT CASE WHEN last_failed_time > coalesce(last_archived_time, '-infinity')
                             THEN extract(epoch FROM now() - coalesce(last_archived_time, stats_reset, last_failed_time))::float8
                             ELSE 0 END FROM pg_stat_archiver) AS unarchived_seconds,
                (SELECT max(pg_wal_lsn_diff(pg_current_wal_lsn(), restart_lsn))::float8 FROM pg_replication_slots) AS slot_bytes,
                (SELECT max(extract(epoch FROM replay_lag))::float8 FROM pg_stat_replication) AS replay_lag_seconds,
                (SELECT max(age(datfrozenxid))::float8 FROM pg_database) AS transaction_id_age,
                (SELECT max(extract(epoch FROM now() - xact_start))::float8 FROM pg_stat_activity
                 WHERE backend_type = 'client backend') AS oldest_transaction_seconds",
    ))
}
