//! Pages of lists.

/// `limit` rows after the first `offset`, of those whose id is `up_to` at most: what is added meanwhile shifts no page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window {
    pub up_to: i64,
    pub offset: i64,
    pub limit: i64,
}

impl Window {
    /// The whole list.
    pub const EVERYTHING: Self = Self {
        up_to: i64::MAX,
        offset: 0,
        limit: i64::MAX,
    };

    /// The page of a list that is in memory.
    pub fn of<T>(self, rows: Vec<T>) -> Vec<T> {
        let skip = usize::try_from(self.offset).unwrap_or(usize::MAX);
        let take = usize::try_from(self.limit).unwrap_or(0);
        rows.into_iter().skip(skip).take(take).collect()
    }
}

/// What a page is taken from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Whole {
    pub count: i64,
    /// The highest id in it, where its pages can be asked for up to one.
    pub up_to: Option<i64>,
}

impl From<i64> for Whole {
    fn from(count: i64) -> Self {
        Self { count, up_to: None }
    }
}

/// The rows of one page, and the [`Whole`] they are taken from: `select` and `whole` are what is read `of` the list, whose tables and conditions
/// stand once. Both queries take the same arguments, and the highest id after them; the rows' order (`then`) takes the offset and the limit next,
/// and at last what only it takes, as the column and the sign of a [`Sorting`](domain::sorting::Sorting).
macro_rules! page {
    ($connection:expr, $window:expr, $row:path, select $select:literal, of $of:literal, then $then:literal $(+ $piece:literal)*,
     whole $whole:literal, $($argument:expr),+ $(; $($more:expr),+)? $(,)?) => {{
        let connection: &mut ::sqlx::PgConnection = $connection;
        let whole = ::sqlx::query_as!($crate::page::Whole, $whole + " " + $of, $($argument),+, $window.up_to)
            .fetch_one(&mut *connection)
            .await?;
        let rows = ::sqlx::query_as!(
            $row,
            $select + " " + $of + " " + $then $(+ $piece)*,
            $($argument),+, $window.up_to, $window.offset, $window.limit $(, $($more),+)?
        )
        .fetch_all(connection)
        .await?;
        (rows, whole)
    }};
}

pub(crate) use page;
