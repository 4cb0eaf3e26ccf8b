//! `cargo xtask bench`: a release build under load, on servers of its own that start empty.
//!
//! The everyday build of this command only builds the release, itself with what measures among it, and becomes it. Parts:
//! the load ([`load`], with requests made ahead by [`template`] and [`requests`]), what it measured ([`outcome`], [`usage`]), the
//! place it goes to ([`place`], with programs and customers from [`market`]), what it is compared with ([`ceilings`],
//! [`rival`]), what is told of it ([`report`], [`page`]), and one module a scenario. Load, service and servers share this
//! machine, so figures compare with each other, not with those of another machine.

#[cfg(any(test, feature = "bench"))]
mod answer;
#[cfg(not(any(test, feature = "bench")))]
mod build;
#[cfg(any(test, feature = "bench"))]
mod ceilings;
#[cfg(any(test, feature = "bench"))]
mod freshness;
#[cfg(any(test, feature = "bench"))]
mod history;
#[cfg(any(test, feature = "bench"))]
mod load;
#[cfg(any(test, feature = "bench"))]
mod market;
#[cfg(any(test, feature = "bench"))]
mod outcome;
#[cfg(any(test, feature = "bench"))]
mod page;
#[cfg(any(test, feature = "bench"))]
mod place;
#[cfg(any(test, feature = "bench"))]
mod plot;
#[cfg(any(test, feature = "bench"))]
mod report;
#[cfg(any(test, feature = "bench"))]
mod requests;
#[cfg(any(test, feature = "bench"))]
mod rival;
#[cfg(any(test, feature = "bench"))]
mod scenarios;
#[cfg(any(test, feature = "bench"))]
mod serve;
#[cfg(any(test, feature = "bench"))]
mod template;
#[cfg(any(test, feature = "bench"))]
mod usage;

#[cfg(not(any(test, feature = "bench")))]
pub(crate) use self::build::{Options, bench};
#[cfg(any(test, feature = "bench"))]
pub(crate) use self::scenarios::{Options, bench};
