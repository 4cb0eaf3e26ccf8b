//! Pages of lists.

/// `limit` rows after the first `offset`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window {
    pub offset: i64,
    pub limit: i64,
}

impl Window {
    /// The page of a list that is in memory.
    pub fn of<T>(self, rows: Vec<T>) -> Vec<T> {
        let skip = usize::try_from(self.offset).unwrap_or(usize::MAX);
        let take = usize::try_from(self.limit).unwrap_or(0);
        rows.into_iter().skip(skip).take(take).collect()
    }
}

/// The rows of one page, and how many rows the whole list has. Both queries take the same arguments; that of the rows takes the
/// offset and the limit after them.
macro_rules! page {
    ($connection:expr, $window:expr, $row:path, $rows:literal, $total:literal, $($argument:expr),+ $(,)?) => {{
        let connection: &mut ::sqlx::PgConnection = $connection;
        let total = ::sqlx::query_scalar!($total, $($argument),+).fetch_one(&mut *connection).await?;
        let rows = ::sqlx::query_as!($row, $rows, $($argument),+, $window.offset, $window.limit)
            .fetch_all(connection)
            .await?;
        (rows, total)
    }};
}

pub(crate) use page;
