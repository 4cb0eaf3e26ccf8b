//! `cargo xtask bench`: a release build under load, on servers of its own that start empty.
//!
//! Built with the feature `bench` and for unit tests only: the everyday command has `rebuilt.rs` in its place. Parts: the
//! load ([`load`], with requests made ahead by [`template`], [`requests`] and
//! [`payments`]), what it measured ([`outcome`], [`usage`]), the
//! place it goes to ([`place`], with programs and customers from [`market`]), what it is compared with ([`ceilings`],
//! [`rival`]), what is told of it ([`report`], [`page`]), and one module a scenario. Load, service and servers share this
//! machine, so figures compare with each other, not with those of another machine.

mod answer;
mod ceilings;
mod facts;
mod freshness;
mod history;
mod load;
mod market;
mod outcome;
mod page;
mod payments;
mod place;
mod plot;
mod report;
mod requests;
mod rival;
mod scenarios;
mod serve;
mod streams;
mod template;
mod usage;

pub(crate) use self::scenarios::{Options, bench};
