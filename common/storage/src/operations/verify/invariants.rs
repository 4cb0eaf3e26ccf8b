//! Each invariant as queries that must return no row, and how each query can be divided.

use std::sync::LazyLock;

use super::division::Division;

/// Declares invariants: each name with its checks, each check with the division of its rows. A check finds
/// all other data of each row by key, so a slice takes no longer on large tables.
macro_rules! invariants {
    ($($name:literal { $($division:ident => $query:expr),+ $(,)? })+) => {
        &[$($crate::operations::verify::Invariant {
            name: $name,
            checks: &[$($crate::operations::verify::invariants::Check {
                division: $crate::operations::verify::division::Division::$division,
                query: $query,
            }),+],
        }),+]
    };
}

mod books;
mod days;
mod events;

#[derive(Debug, Clone, Copy)]
pub struct Invariant {
    pub name: &'static str,
    pub(super) checks: &'static [Check],
}

/// A query over `{rows}`, which stands for a whole table or a slice of it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Check {
    pub division: Division,
    /// Selects one text column: a description of each violation.
    query: &'static str,
}

pub static INVARIANTS: LazyLock<Vec<Invariant>> = LazyLock::new(|| [books::BOOKS, events::EVENTS].concat());

impl Check {
    /// The query over all rows. It has no parameters.
    pub fn of_all(&self) -> String {
        self.filled(self.division.table(), days::ALL)
    }

    /// The query over these rows. Its parameters are the bounds of a slice.
    pub fn of_rows(&self, rows: &str) -> String {
        self.filled(rows, days::OF_A_SLICE)
    }

    fn filled(&self, rows: &str, [days, leads, sums, refunds]: [&str; 4]) -> String {
        self.query
            .replace("{rows}", rows)
            .replace("{days}", days)
            .replace("{leads}", leads)
            .replace("{sums}", sums)
            .replace("{refunds}", refunds)
    }
}
