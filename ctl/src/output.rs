//! Results on standard output, for people and scripts.

use std::io::{Write, stdout};

use chrono::{DateTime, SecondsFormat, Utc};
use serde_json::Value;

/// Prints until the reader closes the pipe, as `head` does. The command continues.
pub fn lines(lines: impl IntoIterator<Item = impl AsRef<str>>) {
    let mut out = stdout().lock();
    for line in lines {
        if writeln!(out, "{}", line.as_ref()).is_err() {
            return;
        }
    }
}

/// Prints a line for each item, or that there is none.
pub fn list<T>(items: &[T], none: &str, line: impl Fn(&T) -> String) {
    if items.is_empty() {
        lines([none]);
    }
    lines(items.iter().map(line));
}

/// Prints `name: value`, one line each.
pub fn facts<'a>(facts: impl IntoIterator<Item = (&'a str, String)>) {
    lines(facts.into_iter().map(|(name, value)| format!("{name}: {value}")));
}

/// Prints an error in one line, without a backtrace.
#[expect(
    clippy::print_stderr,
    reason = "a command line's failures belong on standard error"
)]
pub fn failure(error: &anyhow::Error) {
    eprintln!("error: {error:#}");
}

/// Whole seconds, in UTC.
pub fn instant(at: DateTime<Utc>) -> String {
    at.to_rfc3339_opts(SecondsFormat::Secs, true)
}

/// Untrusted text on one line, without control characters.
pub fn plain(text: &str) -> String {
    text.chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect()
}

/// [`plain`] for a list: the first characters.
pub fn shortened(text: &str, most: usize) -> String {
    plain(text).chars().take(most).collect()
}

/// JSON over several lines, and other bytes escaped.
pub fn readable(payload: &[u8]) -> String {
    match serde_json::from_slice::<Value>(payload) {
        Ok(value) => format!("{value:#}"),
        Err(_) => payload.escape_ascii().to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_others_wrote_does_not_reach_into_the_terminal() {
        assert_eq!(plain("a\u{1b}[31mb\nc"), "a [31mb c");
    }
}
