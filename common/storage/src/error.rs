//! Why a storage call failed, and whether a retry can help: decided here, where the cause is known.

use std::borrow::Cow;
use std::fmt::Display;
use std::panic::Location;

use sqlx::migrate::MigrateError;

pub type StorageResult<T> = Result<T, StorageError>;

#[derive(Debug, thiserror::Error)]
pub enum StorageError {
    #[error(transparent)]
    Database(sqlx::Error),
    /// A stored value cannot be read as the type of its column. The columns of a query are counted from zero.
    #[error("query at {query}: {cause}")]
    Unreadable {
        query: &'static Location<'static>,
        cause: sqlx::Error,
    },
    /// A stored value that no code of this service can have written.
    #[error("{table}.{column} of row {row} holds a value that cannot be read")]
    CorruptRow {
        table: &'static str,
        column: &'static str,
        /// The key that identifies the row in its table.
        row: String,
    },
    /// A write changed a different number of rows than the batch has.
    #[error("{table}: {expected} rows to write, {actual} written")]
    RowsAffected {
        table: &'static str,
        expected: u64,
        actual: u64,
    },
    /// The customer_id was given out twice.
    #[error("the customer_id of the click belongs to another click_id")]
    CustomerIdTaken,
    #[error(
        "a build from before the baseline schema made this database (it has migration {version}), and this one cannot use it: start \
         with an empty database, on a developer's machine by `cargo xtask dev --reset`"
    )]
    EarlierSchema { version: i64 },
}

impl From<sqlx::Error> for StorageError {
    #[track_caller]
    fn from(error: sqlx::Error) -> Self {
        match error {
            cause @ sqlx::Error::ColumnDecode { .. } => Self::Unreadable {
                query: Location::caller(),
                cause,
            },
            error => Self::Database(error),
        }
    }
}

impl StorageError {
    pub fn corrupt(table: &'static str, column: &'static str, row: impl Display) -> Self {
        let row = row.to_string();
        Self::CorruptRow { table, column, row }
    }

    /// True when the same call, with the same input, may succeed later.
    pub fn is_transient(&self) -> bool {
        self.retryable() != Retryable::Never
    }

    pub fn retryable(&self) -> Retryable {
        match self {
            Self::Database(error) => retryable_error(error),
            Self::Unreadable { .. }
            | Self::CorruptRow { .. }
            | Self::RowsAffected { .. }
            | Self::CustomerIdTaken
            | Self::EarlierSchema { .. } => Retryable::Never,
        }
    }
}

/// When a failed call may succeed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Retryable {
    /// Once the database is available again. Until then no call succeeds.
    AfterOutage,
    /// Once another transaction releases what this call needs. Other calls may succeed meanwhile.
    AfterConflict,
    Never,
}

/// Checks that a write changed exactly the rows of the batch.
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

/// SQLSTATE of a lock that was not acquired within `lock_timeout`.
const LOCK_TIMEOUT: &str = "55P03";

/// Whether a migration timed out while it waited for a lock. The database is unchanged then, and the
/// migration can be retried.
pub fn gave_up_waiting(error: &MigrateError) -> bool {
    let (MigrateError::Execute(cause) | MigrateError::ExecuteMigration(cause, _)) = error else {
        return false;
    };
    cause
        .as_database_error()
        .is_some_and(|refused| refused.code().as_deref() == Some(LOCK_TIMEOUT))
}

fn retryable_error(error: &sqlx::Error) -> Retryable {
    match error {
        sqlx::Error::Io(_)
        | sqlx::Error::Tls(_)
        | sqlx::Error::Protocol(_)
        | sqlx::Error::PoolTimedOut
        | sqlx::Error::PoolClosed
        | sqlx::Error::WorkerCrashed => Retryable::AfterOutage,
        sqlx::Error::Database(database) => {
            let code = database.code().unwrap_or(Cow::Borrowed(""));
            retryable_code(&code, database.constraint(), database.table())
        }
        _ => Retryable::Never,
    }
}

fn retryable_code(code: &str, constraint: Option<&str>, table: Option<&str>) -> Retryable {
    match code {
        // Serialisation failure, deadlock, lock timeout, statement timeout, and a transaction that was idle or
        // open for too long.
        "40001" | "40P01" | LOCK_TIMEOUT | "57014" | "25P03" | "25P04" => Retryable::AfterConflict,
        // Two batches bound the same customer_key. On retry the second batch finds the customer by this key.
        "23505" if constraint == Some("customers_customer_key") => Retryable::AfterConflict,
        // The row was routed to the default partition before its partition was attached. A retry finds it.
        "23514" if constraint.is_none() && table.is_some_and(|table| table.ends_with("_other")) => {
            Retryable::AfterConflict
        }
        // Connection failure, exhausted resources, server shutdown or startup, disk failure. 25006 is a
        // read-only server: a standby, or a primary that is being replaced.
        code if ["08", "25006", "53", "57", "58"]
            .iter()
            .any(|class| code.starts_with(class)) =>
        {
            Retryable::AfterOutage
        }
        _ => Retryable::Never,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_database_that_is_away_is_told_from_a_row_that_is_taken() {
        for away in ["08006", "25006", "53300", "57P01", "57P03", "58030"] {
            assert_eq!(retryable_code(away, None, None), Retryable::AfterOutage, "{away}");
        }
        for taken in ["40001", "40P01", "55P03", "57014", "25P03"] {
            assert_eq!(
                retryable_code(taken, None, None),
                Retryable::AfterConflict,
                "{taken}"
            );
        }
        for table in ["click_events_other", "webhook_deliveries_other"] {
            assert_eq!(
                retryable_code("23514", None, Some(table)),
                Retryable::AfterConflict
            );
        }
        let key = Some("customers_customer_key");
        assert_eq!(
            retryable_code("23505", key, Some("customers")),
            Retryable::AfterConflict
        );
    }

    #[test]
    fn what_is_wrong_with_the_data_stays_wrong() {
        for (code, constraint, table) in [
            ("23505", Some("sale_events_pkey"), "sale_events"),
            ("23514", Some("only_bots_do_not_count"), "click_events_other"),
            ("23514", None, "click_events_y2026m01"),
            ("22003", None, "sale_events"),
        ] {
            assert_eq!(
                retryable_code(code, constraint, Some(table)),
                Retryable::Never,
                "{code}"
            );
        }
        let corrupt = StorageError::corrupt("customers", "status", 1);
        assert_eq!(corrupt.retryable(), Retryable::Never);
    }

    #[test]
    fn an_unreadable_value_is_shown_with_the_place_of_its_query() {
        let (index, source) = ("2".to_owned(), r#""colour" is no LinkStatus"#.into());
        let error = StorageError::from(sqlx::Error::ColumnDecode { index, source });
        assert_eq!(error.retryable(), Retryable::Never);
        let shown = error.to_string();
        for part in [file!(), "column 2", r#""colour" is no LinkStatus"#] {
            assert!(shown.contains(part), "{shown}");
        }
    }
}
