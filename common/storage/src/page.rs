//! Pages of lists.

/// `limit` rows from `offset` on, of those with ids up to `up_to`: new rows do not shift the pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window {
    pub up_to: i64,
    pub offset: i64,
    pub limit: i64,
}

impl Window {
    pub const EVERYTHING: Self = Self {
        up_to: i64::MAX,
        offset: 0,
        limit: i64::MAX,
    };

    /// The page of a list in memory.
    pub fn of<T>(self, rows: Vec<T>) -> Vec<T> {
        let skip = usize::try_from(self.offset).unwrap_or(usize::MAX);
        let take = usize::try_from(self.limit).unwrap_or(0);
        rows.into_iter().skip(skip).take(take).collect()
    }
}

/// The list from which a page is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Whole {
    pub count: i64,
    /// The highest id in the list. `None` if the list has no such bound.
    pub up_to: Option<i64>,
}

impl From<i64> for Whole {
    fn from(count: i64) -> Self {
        Self { count, up_to: None }
    }
}

/// Reads one page and its [`Whole`]. `select` and `whole` are the two select lists; `of` has the tables and
/// conditions that both queries share. Both take the same arguments, then the highest id. `part` takes the
/// offset and the limit. `then` joins data to the rows of the page, and the order is repeated after it.
///
/// `order` orders the rows, unless a [`Sorting`](domain::sorting::Sorting) follows it and is given. The
/// literal of the sorting takes the column and the sign as its last arguments.
macro_rules! page {
    ($connection:expr, $window:expr, $row:path, select $select:literal, of $of:literal, order $order:literal,
     or by $sorting:ident: $sorted:literal, part $part:literal, $(then $then:literal,)? whole $whole:literal,
     $($argument:expr),+ $(,)?) => {
        match $sorting {
            None => $crate::page::page!(
                $connection, $window, $row, select $select, of $of, order $order, part $part, $(then $then,)?
                whole $whole, $($argument),+
            ),
            Some(sorting) => $crate::page::page!(
                $connection, $window, $row, select $select, of $of, order $sorted, part $part, $(then $then,)?
                whole $whole, $($argument),+; sorting.by.as_str(), sorting.sign()
            ),
        }
    };
    ($connection:expr, $window:expr, $row:path, select $select:literal, of $of:literal, order $order:literal,
     part $part:literal, $(then $then:literal,)? whole $whole:literal,
     $($argument:expr),+ $(,)? $(; $($more:expr),+)?) => {{
        let connection: &mut ::sqlx::PgConnection = $connection;
        let whole = ::sqlx::query_as!($crate::page::Whole, $whole + " " + $of, $($argument),+, $window.up_to)
            .fetch_one(&mut *connection)
            .await?;
        let rows = ::sqlx::query_as!(
            $row,
            $select + " " + $of + " ORDER BY " + $order + " " + $part $(+ $then + " ORDER BY " + $order)?,
            $($argument),+, $window.up_to, $window.offset, $window.limit $(, $($more),+)?
        )
        .fetch_all(connection)
        .await?;
        (rows, whole)
    }};
}

pub(crate) use page;
