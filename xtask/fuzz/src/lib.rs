//! Fuzz targets for the parsers of untrusted input. A target panics if its property does not hold.
//!
//! A target is an ordinary function. libFuzzer runs it (`cargo xtask fuzz`, with the entry points in `xtask/fuzz/libfuzzer`), and every
//! test run checks the inputs in `xtask/fuzz/corpus`: one example of each case, and every input that has failed once.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a property that does not hold stops the run"
)]

mod bodies;
mod json;
mod round_trip;
mod stripe_event;

/// A property of arbitrary bytes, by the name of its corpus and its entry point.
pub type Target = (&'static str, fn(&[u8]));

pub const TARGETS: [Target; 5] = [
    ("click_body", bodies::click),
    ("lead_body", bodies::lead),
    ("refund_body", bodies::refund),
    ("sale_body", bodies::sale),
    ("stripe_event", stripe_event::run),
];

/// Runs the target of this name.
pub fn run(name: &str, bytes: &[u8]) {
    let target = TARGETS.iter().find(|(known, _)| *known == name);
    (target.expect("every entry point has its target").1)(bytes);
}
