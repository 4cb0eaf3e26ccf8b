//! `shared_texts`: texts that many visitors' clicks bring, stored once. Click events refer to them by number.

use std::collections::HashMap;

use sqlx::PgPool;

use crate::batch::unnest;
use crate::error::StorageResult;

/// Numbers by text.
pub type SharedIds = HashMap<Box<str>, i64>;

/// Stores texts, each `(id, text)`, that are not there yet. Each is committed before a click refers to it.
pub async fn insert(pool: &PgPool, texts: &[(i64, &str)]) -> StorageResult<()> {
    unnest!(
        query,
        "INSERT INTO shared_texts (id, text) SELECT * FROM UNNEST($1::bigint[], $2::text[]) AS n (id, text) ORDER BY id
         ON CONFLICT (id) DO NOTHING",
        (id, text) in texts =>
            ids: i64 = *id,
            texts: &str = *text
    )
    .execute(pool)
    .await?;
    Ok(())
}
