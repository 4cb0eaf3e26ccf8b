//! Messages that must follow a commit: they are written in its transaction and published by the relay.

use sqlx::PgConnection;

use crate::error::StorageResult;

#[derive(Debug)]
pub struct OutboxMessage {
    pub id: i64,
    /// JSON text of the record.
    pub payload: String,
}

pub async fn add(connection: &mut PgConnection, noun: &str, payloads: &[String]) -> StorageResult<()> {
    if payloads.is_empty() {
        return Ok(());
    }
    execute!(
        connection,
        "INSERT INTO outbox (noun, payload) SELECT $1, p FROM UNNEST($2::text[]) AS p",
        noun,
        payloads,
    );
    Ok(())
}

/// Locks the oldest unsent records of a noun. They stay until [`remove`]: a relay that crashes in between
/// only causes them to be sent again.
pub async fn lock_unsent(
    connection: &mut PgConnection,
    noun: &str,
    limit: i64,
) -> StorageResult<Vec<OutboxMessage>> {
    Ok(fetch_all!(
        connection,
        OutboxMessage,
        "SELECT id, payload FROM outbox WHERE noun = $1 ORDER BY id LIMIT $2 FOR UPDATE SKIP LOCKED",
        noun,
        limit,
    ))
}

pub async fn remove(connection: &mut PgConnection, ids: &[i64]) -> StorageResult<()> {
    execute!(connection, "DELETE FROM outbox WHERE id = ANY($1)", ids);
    Ok(())
}
