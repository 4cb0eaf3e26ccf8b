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

mod affiliate_url;
mod bearer;
mod bodies;
mod click_id;
mod json;
mod messages;
mod refund_arithmetic;
mod stripe_event;
mod stripe_signature;

/// A property of arbitrary bytes.
#[derive(Debug, Clone, Copy)]
pub struct Target {
    /// Also the name of its corpus and its entry point.
    pub name: &'static str,
    pub run: fn(&[u8]),
}

pub const TARGETS: [Target; 11] = [
    Target {
        name: "affiliate_url",
        run: affiliate_url::run,
    },
    Target {
        name: "bearer",
        run: bearer::run,
    },
    Target {
        name: "click_body",
        run: bodies::click,
    },
    Target {
        name: "click_id",
        run: click_id::run,
    },
    Target {
        name: "lead_body",
        run: bodies::lead,
    },
    Target {
        name: "messages",
        run: messages::run,
    },
    Target {
        name: "refund_arithmetic",
        run: refund_arithmetic::run,
    },
    Target {
        name: "refund_body",
        run: bodies::refund,
    },
    Target {
        name: "sale_body",
        run: bodies::sale,
    },
    Target {
        name: "stripe_event",
        run: stripe_event::run,
    },
    Target {
        name: "stripe_signature",
        run: stripe_signature::run,
    },
];

/// Runs the target of this name.
pub fn run(name: &str, bytes: &[u8]) {
    let target = TARGETS.iter().find(|target| target.name == name);
    (target.expect("every entry point has its target").run)(bytes);
}
