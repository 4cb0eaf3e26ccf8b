//! Results on standard output: for people, and for the scripts of people.

use chrono::{DateTime, SecondsFormat, Utc};

#[expect(
    clippy::print_stdout,
    reason = "a command line's results belong on standard output"
)]
pub fn lines(lines: impl IntoIterator<Item = impl AsRef<str>>) {
    for line in lines {
        println!("{}", line.as_ref());
    }
}

/// `name: value`, a line each.
pub fn facts<'a>(facts: impl IntoIterator<Item = (&'a str, String)>) {
    lines(facts.into_iter().map(|(name, value)| format!("{name}: {value}")));
}

/// Why a command failed, in one line: where in the program it did is nothing an operator asks.
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

/// Text that somebody else wrote, on one line and without what a terminal would obey.
pub fn plain(text: &str) -> String {
    text.chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_others_wrote_does_not_reach_into_the_terminal() {
        assert_eq!(plain("a\u{1b}[31mb\nc"), "a [31mb c");
    }
}
