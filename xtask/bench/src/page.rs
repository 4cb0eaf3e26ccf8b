//! Writes the figures and facts of `docs/performance.md`, between its markers; the rest of the page is written
//! by hand.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

use super::facts::Facts;
use super::report::Report;

const BEGIN: &str = "<!-- figures: written by `cargo xtask bench` -->";
const END: &str = "<!-- end of figures -->";

pub(super) fn write(docs: &Path, facts: &Facts, report: &Report) -> Result<()> {
    let facts = facts.iter().fold(String::new(), |mut rows, (name, fact)| {
        let _ = writeln!(rows, "| {name} | {fact} |");
        rows
    });
    let figures = format!("| measured | on |\n|---|---|\n{facts}\n{}", report.table());
    let path = docs.join("performance.md");
    let page = fs::read_to_string(&path)?;
    let page = with_figures(&page, figures.trim_end()).context("the page has no markers of its figures")?;
    fs::write(&path, page).with_context(|| format!("cannot write {}", path.display()))
}

/// Replaces the text between the markers; `None` without markers.
fn with_figures(page: &str, figures: &str) -> Option<String> {
    let (before, rest) = page.split_once(BEGIN)?;
    let (_, after) = rest.split_once(END)?;
    Some(format!("{before}{BEGIN}\n\n{figures}\n\n{END}{after}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_written_by_hand_stays() {
        let page = |figures| format!("Before.\n\n{BEGIN}\n\n{figures}\n\n{END}\n\n## Experiments\n");
        assert_eq!(with_figures(&page("one"), "two"), Some(page("two")));
        assert_eq!(with_figures("Before.\n", "two"), None);
    }
}
