//! `shared_texts`: texts that many clicks share, stored once. Click events refer to them by id.

use std::collections::HashMap;

use sqlx::PgPool;

use crate::error::StorageResult;

pub type SharedIds = HashMap<Box<str>, i64>;

/// Stores new texts, each as `(id, text)`. They are committed before a click refers to them.
pub async fn insert(pool: &PgPool, texts: &[(i64, &str)]) -> StorageResult<()> {
    write_batch!(
        pool,
        "INSERT INTO shared_texts (id, text) SELECT * FROM UNNEST($1::bigint[], $2::text[]) AS n (id, text) ORDER BY id
         ON CONFLICT (id) DO NOTHING",
        (id, text) in texts =>
            ids: i64 = *id,
            texts: &str = *text
    );
    Ok(())
}
