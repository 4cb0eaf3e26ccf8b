//! Each invariant as queries that must return no row, and how each can be divided.

mod books;
mod days;
mod events;

use std::sync::LazyLock;

use super::division::Division;

/// One rule, and how to find what breaks it.
#[derive(Debug, Clone, Copy)]
pub struct Invariant {
    pub name: &'static str,
    pub(super) checks: &'static [Check],
}

/// A query, and what it goes through row by row: `{rows}` in its text, which is a whole table or a slice of it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Check {
    pub division: Division,
    /// Selects one text column: a description of each offending row.
    query: &'static str,
}

/// For every row of `{rows}`, what `query` says of it is found by keys: a slice takes no longer on large tables than on small ones.
const fn of(division: Division, query: &'static str) -> Check {
    Check { division, query }
}

pub static INVARIANTS: LazyLock<Vec<Invariant>> = LazyLock::new(|| [books::BOOKS, events::EVENTS].concat());

impl Check {
    /// Of all rows, without parameters.
    pub fn of_all(&self) -> String {
        self.filled(self.division.table(), days::ALL)
    }

    /// Of these rows, whose parameters are the bounds of a slice.
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
