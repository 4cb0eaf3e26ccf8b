//! Personal data of one customer: found, exported, erased.
//!
//! Phases: **find** the customer's rows, and from them every name they are known by; then the records that were put aside and
//! carry one of these names (dead letters, dead claims, processor events that wait for a person) → **export**
//! ([`export`]) or **erase** ([`erase`], which locks the rows first). All of one request is one transaction.
//!
//! Nothing that has events of other customers is read whole: their months hold billions. Clicks are found by program and time
//! ([`clicked_at`]), what else there is of a customer by indexes.

mod clicked_at;
mod erase;
mod export;
mod find;

pub use self::erase::{Erased, click_ids, erase};
pub use self::export::{Export, export};
pub use self::find::{Found, Reach, Stated, find};
