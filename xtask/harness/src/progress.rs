//! One line when a step starts, one when it is done.
//!
//! A terminal that was closed must not keep processes from being stopped: lines that cannot be written are
//! lost, and that is all.

use std::fmt::Display;
use std::io::{self, Write};
use std::time::Instant;

/// A step under way.
#[derive(Debug)]
pub struct Step {
    started: Instant,
}

impl Step {
    pub fn start(what: impl Display) -> Self {
        line(format_args!("==> {what}"));
        Self {
            started: Instant::now(),
        }
    }

    pub fn done(self, outcome: impl Display) {
        note(format_args!(
            "{outcome} ({:.1} s)",
            self.started.elapsed().as_secs_f64()
        ));
    }
}

/// Something the reader should know that is no step.
pub fn note(what: impl Display) {
    line(format_args!("    {what}"));
}

pub(crate) fn line(text: impl Display) {
    let _ = writeln!(io::stderr(), "{text}");
}
