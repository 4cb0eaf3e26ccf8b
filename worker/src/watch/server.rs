//! Gauges of the PostgreSQL server. Values that its role may not read are missing from the page.

use runtime::metrics::{
    POSTGRES_OLDEST_TRANSACTION, POSTGRES_REPLAY_LAG, POSTGRES_SLOT_BYTES, POSTGRES_TRANSACTION_IDS,
    POSTGRES_UNARCHIVED,
};
use sqlx::PgPool;
use storage::StorageResult;
use storage::operations::server_status::{self, ServerStatus};
use tokio::time::timeout;

use super::WITHIN;

pub(super) async fn show(pool: PgPool) {
    let read = async { server_status::read(&mut *pool.acquire().await?).await };
    let answer: Result<StorageResult<ServerStatus>, _> = timeout(WITHIN, read).await;
    // Another gauge shows that PostgreSQL does not answer.
    let status = answer.ok().and_then(Result::ok);
    for (gauge, value) in [
        (
            &POSTGRES_UNARCHIVED,
            status.and_then(|status| status.unarchived_seconds),
        ),
        (&POSTGRES_SLOT_BYTES, status.and_then(|status| status.slot_bytes)),
        (
            &POSTGRES_REPLAY_LAG,
            status.and_then(|status| status.replay_lag_seconds),
        ),
        (
            &POSTGRES_TRANSACTION_IDS,
            status.and_then(|status| status.transaction_id_age),
        ),
        (
            &POSTGRES_OLDEST_TRANSACTION,
            status.and_then(|status| status.oldest_transaction_seconds),
        ),
    ] {
        gauge.clear();
        if let Some(value) = value {
            gauge.with([]).set(value);
        }
    }
}
