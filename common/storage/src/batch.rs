//! Passes batches to PostgreSQL as arrays, for `UNNEST`.

use std::fmt::Display;

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

pub(crate) use columns;

/// A query whose first parameters are the columns of a batch, in their order. Further parameters follow after
/// a semicolon:
/// `unnest!(query, "… UNNEST($1::bigint[]) …", sale in sales => ids: i64 = sale.sale_id.get(); now)`.
macro_rules! unnest {
    ($query:ident, $($type:ident,)? $sql:literal, $row:pat in $rows:expr =>
        $($column:ident: $kind:ty = $value:expr),+ $(,)? $(; $($other:expr),+)?) => {{
        $crate::batch::columns!($row in $rows => $($column: $kind = $value),+);
        sqlx::$query!($($type,)? $sql, $(&$column as &[$kind],)+ $($($other),+)?)
    }};
}

pub(crate) use unnest;

/// An array as text, for an array inside a batch: `UNNEST` would flatten nested arrays. Only for values that
/// need no escaping inside double quotes (numbers, timestamps).
pub fn array_literal<T: Display>(values: impl IntoIterator<Item = T>) -> String {
    let quoted: Vec<String> = values.into_iter().map(|value| format!("\"{value}\"")).collect();
    format!("{{{}}}", quoted.join(","))
}
