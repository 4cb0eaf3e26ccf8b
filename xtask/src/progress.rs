//! One line when a step starts, one when it is done.

use std::fmt::Display;
use std::time::Instant;

/// A step under way.
pub(crate) struct Step {
    started: Instant,
}

impl Step {
    pub(crate) fn start(what: impl Display) -> Self {
        eprintln!("==> {what}");
        Self {
            started: Instant::now(),
        }
    }

    pub(crate) fn done(self, outcome: impl Display) {
        eprintln!("    {outcome} ({:.1} s)", self.started.elapsed().as_secs_f64());
    }
}

/// Something the reader should know that is no step.
pub(crate) fn note(what: impl Display) {
    eprintln!("    {what}");
}
