//! Why a storage call failed, and whether trying again can help: decided here, where the cause is known.

use std::borrow::Cow;

pub type StorageResult<T> = Result<T, StorageError>;

#[derive(Debug, thiserror::Error)]
pub enum StorageError {
    #[error(transparent)]
    Database(#[from] sqlx::Error),
    /// A stored value no code of ours can have written.
    #[error("{table}.{column} of row {id} holds a value that cannot be read")]
    CorruptRow {
        table: &'static str,
        column: &'static str,
        id: i64,
    },
    /// A write touched another number of rows than the batch names.
    #[error("{table}: {expected} rows to write, {actual} written")]
    RowsAffected {
        table: &'static str,
        expected: u64,
        actual: u64,
    },
}

impl StorageError {
    pub fn corrupt(table: &'static str, column: &'static str, id: i64) -> Self {
        Self::CorruptRow { table, column, id }
    }

    /// True when the same call may succeed later without anything about its input changing.
    pub fn is_transient(&self) -> bool {
        match self {
            Self::Database(error) => database_error_is_transient(error),
            Self::CorruptRow { .. } | Self::RowsAffected { .. } => false,
        }
    }
}

/// Checks that a write reached exactly the rows it names.
pub(super) fn expect_rows(table: &'static str, expected: usize, actual: u64) -> StorageResult<()> {
    let expected = expected as u64;
    if expected == actual {
        Ok(())
    } else {
        Err(StorageError::RowsAffected {
            table,
            expected,
            actual,
        })
    }
}

fn database_error_is_transient(error: &sqlx::Error) -> bool {
    match error {
        sqlx::Error::Io(_)
        | sqlx::Error::Tls(_)
        | sqlx::Error::Protocol(_)
        | sqlx::Error::PoolTimedOut
        | sqlx::Error::PoolClosed
        | sqlx::Error::WorkerCrashed => true,
        sqlx::Error::Database(database) => {
            let code = database.code().unwrap_or(Cow::Borrowed(""));
            match code.as_ref() {
                // Serialisation failure, deadlock, lock timeout, cancelled by a timeout.
                "40001" | "40P01" | "55P03" | "57014" => true,
                // Two batches bound the same customer_key; the second will find the customer by it next time.
                "23505" => database.constraint() == Some("customers_customer_key"),
                // Connection trouble, resources exhausted, server going down or coming up, disk.
                code => ["08", "53", "57", "58"]
                    .iter()
                    .any(|class| code.starts_with(class)),
            }
        }
        _ => false,
    }
}
