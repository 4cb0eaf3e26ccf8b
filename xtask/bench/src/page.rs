//! Writes the figures, facts and plots of `docs/performance.md`, between its markers; the rest of the page is
//! written by hand.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

use super::facts::Facts;
use super::plot::{Bar, bars};
use super::report::{Report, Row};

const BEGIN: &str = "<!-- figures: written by `cargo xtask bench` -->";
const END: &str = "<!-- end of figures -->";
const NEW_PAGE: &str = "# Performance\n\n";
const PLOTS: &str = "performance";

pub(super) fn write(docs: &Path, facts: &Facts, report: &Report) -> Result<()> {
    let dir = docs.join(PLOTS);
    fs::create_dir_all(&dir)?;
    let mut images = String::new();
    for (name, title, plot) in plots(report) {
        fs::write(dir.join(format!("{name}.svg")), plot)?;
        let _ = write!(images, "![{title}]({PLOTS}/{name}.svg)\n\n");
    }
    let facts = facts.iter().fold(String::new(), |mut rows, (name, fact)| {
        let _ = writeln!(rows, "| {name} | {fact} |");
        rows
    });
    let figures = format!(
        "| measured | on |\n|---|---|\n{facts}\n{}\n{images}",
        report.page_table()
    );
    let path = docs.join("performance.md");
    let page = fs::read_to_string(&path).unwrap_or_else(|_| NEW_PAGE.to_owned());
    fs::write(&path, with_figures(&page, figures.trim_end()))
        .with_context(|| format!("cannot write {}", path.display()))
}

/// Replaces the text between the markers; without markers, appends it.
fn with_figures(page: &str, figures: &str) -> String {
    let figures = format!("{BEGIN}\n\n{figures}\n\n{END}");
    match page
        .split_once(BEGIN)
        .and_then(|(before, rest)| Some((before, rest.split_once(END)?.1)))
    {
        Some((before, after)) => format!("{before}{figures}{after}"),
        None => format!("{page}{figures}\n"),
    }
}

/// Name, title and SVG of each plot with data.
fn plots(report: &Report) -> Vec<(&'static str, &'static str, String)> {
    let of = |rows: &dyn Fn(&Row) -> Option<Bar>| report.rows.iter().filter_map(rows).collect::<Vec<_>>();
    let throughput = of(&|row| {
        (row.unit == "/s").then(|| Bar {
            label: row.name.clone(),
            value: row.value,
            mark: row.ceiling,
        })
    });
    let latency = of(&|row| {
        (row.unit == "ms" && row.name.contains("p99")).then(|| Bar {
            label: row.name.clone(),
            value: row.value,
            mark: row.ceiling,
        })
    });
    let cost = of(&|row| {
        row.name.starts_with("CPU per ").then(|| Bar {
            label: row.name.clone(),
            value: row.value,
            mark: None,
        })
    });
    [
        (
            "throughput",
            "Rate a second; the line marks the figure it is compared with",
            throughput,
        ),
        (
            "latency",
            "Milliseconds; the line marks the figure it is compared with",
            latency,
        ),
        ("cost", "CPU microseconds a request, by process", cost),
    ]
    .into_iter()
    .filter(|(.., shown)| !shown.is_empty())
    .map(|(name, title, shown)| (name, title, bars(title, &shown)))
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_written_by_hand_stays() {
        let page = with_figures("# Performance\n\nBefore.\n\n", "one");
        assert_eq!(
            page,
            format!("# Performance\n\nBefore.\n\n{BEGIN}\n\none\n\n{END}\n")
        );
        let again = with_figures(&format!("{page}\n## What was tried\n\nA lot.\n"), "two");
        assert!(again.contains("Before.") && again.contains("two") && !again.contains("one"));
        assert!(
            again.ends_with(&format!("{END}\n\n## What was tried\n\nA lot.\n")),
            "{again}"
        );
        assert_eq!(again.matches(BEGIN).count(), 1);
    }

    #[test]
    fn only_what_was_measured_is_plotted() {
        let mut report = Report::default();
        report.add(Row::of("1 clicks", 5.0, "/s"));
        let plotted: Vec<_> = plots(&report).iter().map(|(name, ..)| *name).collect();
        assert_eq!(plotted, ["throughput"]);
    }
}
