//! Finds, exports and erases the personal data of one customer.
//!
//! Phases: **find** the customer's rows and all names in them, then the set-aside records with one of these
//! names (dead letters, dead claims, processor events that wait for a person) → **export** ([`export`]) or
//! **erase** ([`erase`], which locks the rows first). One request is one transaction.
//!
//! Tables of events are never scanned: a month holds billions of rows. Clicks are found by program and time
//! ([`clicked_at`]), other rows of the customer by indexes.

mod clicked_at;
mod erase;
mod export;
mod find;

pub use self::erase::{Erased, click_ids, erase};
pub use self::export::{Export, export};
pub use self::find::{Found, Identifiers, Reach, find};
