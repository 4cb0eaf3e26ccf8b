//! Personal data of one customer: found, exported, erased.
//!
//! Phases: **find** the customer's rows, and from them every name they are known by; then the records that were put aside and
//! carry one of these names (dead letters, dead claims, processor events that wait for a person) → **export**
//! ([`export`]) or **erase** ([`erase`], which locks the rows first). All of one request is one transaction.
//!
//! Events are searched by program: their tables have no index by customer, because clicks are written thousands of times a
//! second and a request for personal data comes once a week.

mod erase;
mod export;
mod find;

pub use self::erase::{Erased, click_ids, erase};
pub use self::export::{Export, export};
pub use self::find::{Found, Reach, Stated, find};
