//! Passes batches to PostgreSQL as arrays, for `UNNEST`.

use std::fmt::Display;

/// Runs a statement, awaits it, returns an error to the caller, and otherwise says how many rows it changed.
/// Takes what `sqlx::query!` takes, after the connection.
macro_rules! execute {
    ($connection:expr, $($query:tt)+) => {
        sqlx::query!($($query)+)
            .execute($connection)
            .await?
            .rows_affected()
    };
}

/// Runs a query, awaits it, returns an error to the caller, and otherwise is all its rows. Takes what
/// `sqlx::query_as!` takes, after the connection, or what `sqlx::query!` takes. [`fetch_one`] is the row of a
/// query that has one, [`fetch_optional`] that of a query that may have one. Queries of one column have
/// [`fetch_scalars`], [`fetch_scalar`] and [`fetch_optional_scalar`].
macro_rules! fetch_all {
    ($connection:expr, $($query:tt)+) => {
        rows_query!($($query)+).fetch_all($connection).await?
    };
}

macro_rules! fetch_one {
    ($connection:expr, $($query:tt)+) => {
        rows_query!($($query)+).fetch_one($connection).await?
    };
}

macro_rules! fetch_optional {
    ($connection:expr, $($query:tt)+) => {
        rows_query!($($query)+).fetch_optional($connection).await?
    };
}

/// `sqlx::query!` for arguments that begin with the SQL, `sqlx::query_as!` for those that begin with a type.
macro_rules! rows_query {
    ($sql:literal $($more:tt)*) => { sqlx::query!($sql $($more)*) };
    ($($query:tt)+) => { sqlx::query_as!($($query)+) };
}

macro_rules! fetch_scalars {
    ($connection:expr, $($query:tt)+) => {
        sqlx::query_scalar!($($query)+).fetch_all($connection).await?
    };
}

macro_rules! fetch_scalar {
    ($connection:expr, $($query:tt)+) => {
        sqlx::query_scalar!($($query)+).fetch_one($connection).await?
    };
}

macro_rules! fetch_optional_scalar {
    ($connection:expr, $($query:tt)+) => {
        sqlx::query_scalar!($($query)+).fetch_optional($connection).await?
    };
}

/// Makes one `Vec` for each column, in the order of the rows.
/// `columns!(sale in sales => ids: i64 = sale.sale_id.get())` makes `ids`.
macro_rules! columns {
    ($row:pat in $rows:expr => $($column:ident: $kind:ty = $value:expr),+ $(,)?) => {
        let rows = $rows.iter();
        $(let mut $column: Vec<$kind> = Vec::with_capacity(rows.len());)+
        for $row in rows {
            $($column.push($value);)+
        }
    };
}

/// A query whose first parameters are the columns of a batch, in their order. Further parameters follow after
/// a semicolon:
/// `unnest!(query, "… UNNEST($1::bigint[]) …", sale in sales => ids: i64 = sale.sale_id.get(); now)`.
macro_rules! unnest {
    ($query:ident, $($type:ident,)? $sql:literal, $row:pat in $rows:expr =>
        $($column:ident: $kind:ty = $value:expr),+ $(,)? $(; $($other:expr),+)?) => {{
        columns!($row in $rows => $($column: $kind = $value),+);
        sqlx::$query!($($type,)? $sql, $(&$column as &[$kind],)+ $($($other),+)?)
    }};
}

/// [`execute`] for a statement that writes a batch, with the columns of [`unnest`]. An empty
/// batch needs no statement.
macro_rules! write_batch {
    ($connection:expr, $sql:literal, $row:pat in $rows:expr => $($columns:tt)+) => {
        if $rows.is_empty() {
            0
        } else {
            unnest!(query, $sql, $row in $rows => $($columns)+)
                .execute($connection)
                .await?
                .rows_affected()
        }
    };
}

/// Deletes rows that are no longer needed, at most `limit`. `which` selects and orders them by a time.
/// Returns how many.
macro_rules! forget {
    ($pool:expr, $table:literal, $key:literal, $which:literal, $before:expr, $limit:expr) => {
        Ok(execute!(
            $pool,
            "DELETE FROM "
                + $table
                + " WHERE "
                + $key
                + " IN (SELECT "
                + $key
                + " FROM "
                + $table
                + " WHERE "
                + $which
                + " LIMIT $2 FOR UPDATE SKIP LOCKED)",
            $before,
            $limit,
        ))
    };
}

/// An array as text, for an array inside a batch: `UNNEST` would flatten nested arrays. Only for values that
/// need no escaping inside double quotes (numbers, timestamps).
pub fn array_literal<T: Display>(values: impl IntoIterator<Item = T>) -> String {
    let quoted: Vec<String> = values.into_iter().map(|value| format!("\"{value}\"")).collect();
    format!("{{{}}}", quoted.join(","))
}
