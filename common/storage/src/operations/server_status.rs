//! What PostgreSQL knows about itself that fails slowly: archive, replicas, old transactions, transaction ids.

use sqlx::PgConnection;

use crate::error::StorageResult;

/// `None`: the role may not see it, or there is nothing of the kind.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ServerStatus {
    /// Since the last segment of the WAL was archived; 0 while the last attempt has succeeded, and without an archive.
    pub unarchived_seconds: Option<f64>,
    /// WAL that is kept for the replication slot that is furthest behind.
    pub slot_bytes: Option<f64>,
    /// Of the replica that is furthest behind.
    pub replay_lag_seconds: Option<f64>,
    /// Transactions since the oldest that no vacuum has frozen, of 2^31.
    pub transaction_id_age: Option<f64>,
    /// Age of the oldest open transaction.
    pub oldest_transaction_seconds: Option<f64>,
}

/// One statement over views of the server, which count and do not read tables.
///
/// Everybody may read the archiver, slots and ids. Of other roles' sessions, and of replicas, `pg_read_all_stats` shows the times.
pub async fn read(connection: &mut PgConnection) -> StorageResult<ServerStatus> {
    Ok(sqlx::query_as!(
        ServerStatus,
        "SELECT (SELECT CASE WHEN last_failed_time > coalesce(last_archived_time, '-infinity')
                             THEN extract(epoch FROM now() - coalesce(last_archived_time, stats_reset, last_failed_time))::float8
                             ELSE 0 END FROM pg_stat_archiver) AS unarchived_seconds,
                (SELECT max(pg_wal_lsn_diff(pg_current_wal_lsn(), restart_lsn))::float8 FROM pg_replication_slots) AS slot_bytes,
                (SELECT max(extract(epoch FROM replay_lag))::float8 FROM pg_stat_replication) AS replay_lag_seconds,
                (SELECT max(age(datfrozenxid))::float8 FROM pg_database) AS transaction_id_age,
                (SELECT max(extract(epoch FROM now() - xact_start))::float8 FROM pg_stat_activity
                 WHERE backend_type = 'client backend') AS oldest_transaction_seconds",
    )
    .fetch_one(connection)
    .await?)
}
