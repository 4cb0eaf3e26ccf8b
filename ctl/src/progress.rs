//! Progress of long commands, shown on standard error if it is a terminal.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

/// A bar of `count` steps.
pub fn steps(count: usize) -> ProgressBar {
    let bar = ProgressBar::new(count as u64);
    // The template is constant. If it did not parse, the bar would keep its default style.
    if let Ok(style) = ProgressStyle::with_template("{bar:30} {pos}/{len} {wide_msg}") {
        bar.set_style(style);
    }
    bar
}

/// A spinner for work of unknown length.
pub fn waiting(what: &'static str) -> ProgressBar {
    let spinner = ProgressBar::new_spinner().with_message(what);
    spinner.enable_steady_tick(Duration::from_millis(100));
    spinner
}
