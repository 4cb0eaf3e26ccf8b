//! How far long work has come, on standard error and only when that is a terminal.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

/// For so many steps, each of which is named as it begins.
pub fn steps(count: usize) -> ProgressBar {
    let bar = ProgressBar::new(count as u64);
    // The template is a constant: it either always parses or never.
    if let Ok(style) = ProgressStyle::with_template("{bar:30} {pos}/{len} {wide_msg}") {
        bar.set_style(style);
    }
    bar
}

/// For work that does not say how long it will take.
pub fn waiting(what: &'static str) -> ProgressBar {
    let spinner = ProgressBar::new_spinner().with_message(what);
    spinner.enable_steady_tick(Duration::from_millis(100));
    spinner
}
