//! Figures, their comparisons and goals: as a table, and as `target/bench/report.json`.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use anyhow::Result;
use serde::{Deserialize, Serialize};

use super::outcome::median;

/// One figure.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Row {
    pub(super) name: String,
    pub(super) value: f64,
    unit: String,
    /// What it is compared with.
    other: Option<Other>,
    /// Of its ratio to the other figure, if there is one.
    goal: Option<Goal>,
}

/// A figure that was measured in the same minutes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Other {
    name: String,
    value: f64,
    /// `None` of a figure that is 0.
    ratio: Option<f64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(super) enum Goal {
    AtLeast(f64),
    AtMost(f64),
}

impl Goal {
    fn is_met_by(self, value: f64) -> bool {
        match self {
            Self::AtLeast(bound) => value >= bound,
            Self::AtMost(bound) => value <= bound,
        }
    }

    fn shown(self, unit: &str) -> String {
        match self {
            Self::AtLeast(bound) => format!("≥ {} {unit}", compact(bound)),
            Self::AtMost(bound) => format!("≤ {} {unit}", compact(bound)),
        }
    }
}

impl Row {
    /// A figure without goal.
    pub(super) fn of(name: impl Into<String>, value: f64, unit: &str) -> Self {
        Self {
            name: name.into(),
            value,
            unit: unit.to_owned(),
            other: None,
            goal: None,
        }
    }

    /// With a goal for the figure itself.
    pub(super) fn goal(self, goal: Goal) -> Self {
        Self {
            goal: Some(goal),
            ..self
        }
    }

    /// With a goal for its ratio to another figure.
    pub(super) fn against(self, name: &str, value: f64, goal: Goal) -> Self {
        let other = Other {
            name: name.to_owned(),
            value,
            ratio: (value > 0.0).then(|| self.value / value),
        };
        Self {
            other: Some(other),
            ..self.goal(goal)
        }
    }

    pub(super) fn ratio(&self) -> Option<f64> {
        self.other.as_ref()?.ratio
    }

    /// `None` without a goal. Without a ratio a goal for it is not met.
    pub(super) fn is_met(&self) -> Option<bool> {
        let goal = self.goal?;
        let judged = match self.other {
            Some(_) => self.ratio(),
            None => Some(self.value),
        };
        Some(judged.is_some_and(|value| goal.is_met_by(value)))
    }

    fn cells(&self) -> [String; 5] {
        let mut cells = [
            self.name.clone(),
            format!("{} {}", compact(self.value), self.unit),
            String::new(),
            self.goal.map(|goal| goal.shown(&self.unit)).unwrap_or_default(),
            self.is_met()
                .map_or("", |met| if met { "yes" } else { "NO" })
                .to_owned(),
        ];
        if let Some(Other { name, value, .. }) = &self.other {
            let ratio = self
                .ratio()
                .map(|ratio| format!("{ratio:.2} × {name} ({})", compact(*value)));
            cells[2] = ratio.unwrap_or_default();
            let goal = self.goal.map(|goal| goal.shown(&format!("× {name}")));
            cells[3] = goal.unwrap_or_default();
        }
        cells
    }
}

/// What was measured in several rounds, by name.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Rounds(BTreeMap<String, Vec<f64>>);

impl Rounds {
    pub(super) fn add(&mut self, name: &str, value: f64) {
        self.0.entry(name.to_owned()).or_default().push(value);
    }

    pub(super) fn of(&self, name: &str) -> &[f64] {
        self.0.get(name).map_or(&[], Vec::as_slice)
    }

    pub(super) fn median(&self, name: &str) -> f64 {
        median(self.of(name))
    }

    /// A row with a goal for the ratio of one figure to another: the median of the rounds' ratios counts.
    pub(super) fn row(&self, row: &str, figure: &str, unit: &str, other: &str, goal: Goal) -> Row {
        let both = self.of(figure).iter().zip(self.of(other));
        let ratios: Vec<f64> = both
            .filter(|(_, ceiling)| **ceiling > 0.0)
            .map(|(value, ceiling)| value / ceiling)
            .collect();
        let other = Other {
            name: other.to_owned(),
            value: self.median(other),
            ratio: (!ratios.is_empty()).then(|| median(&ratios)),
        };
        Row {
            other: Some(other),
            ..Row::of(row, self.median(figure), unit).goal(goal)
        }
    }
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Report {
    pub(super) rows: Vec<Row>,
    #[serde(skip)]
    rounds: Rounds,
}

impl Report {
    /// Replaces a row of the same name.
    pub(super) fn add(&mut self, row: Row) {
        match self.rows.iter_mut().find(|known| known.name == row.name) {
            Some(known) => *known = row,
            None => self.rows.push(row),
        }
    }

    /// Adds one round's figure: the row is the median so far.
    pub(super) fn add_round(&mut self, name: String, value: f64, unit: &str) {
        self.rounds.add(&name, value);
        let value = self.rounds.median(&name);
        self.add(Row::of(name, value, unit));
    }

    /// Gives a figure of all rounds its goal, after the last one.
    pub(super) fn set_goal(&mut self, name: &str, goal: Goal) {
        if let Some(row) = self.rows.iter_mut().find(|row| row.name == name) {
            row.goal = Some(goal);
        }
    }

    /// Reads the report of earlier runs, whose other scenarios are kept.
    pub(super) fn read(path: &Path) -> Self {
        fs::read(path)
            .ok()
            .and_then(|text| serde_json::from_slice(&text).ok())
            .unwrap_or_default()
    }

    pub(super) fn write(&self, path: &Path) -> Result<()> {
        if let Some(dir) = path.parent() {
            fs::create_dir_all(dir)?;
        }
        fs::write(path, serde_json::to_vec_pretty(self)?)?;
        Ok(())
    }

    /// As Markdown, in columns.
    pub(super) fn table(&self) -> String {
        let lines: Vec<[String; 5]> = std::iter::once(HEAD.map(str::to_owned))
            .chain(self.rows.iter().map(Row::cells))
            .collect();
        let width = |column: usize| {
            let cells = lines.iter().filter_map(|line| line.get(column));
            cells.map(|cell| cell.chars().count()).max().unwrap_or_default()
        };
        let widths: Vec<usize> = (0..HEAD.len()).map(width).collect();
        let mut table = String::new();
        for (number, line) in lines.iter().enumerate() {
            for (index, (cell, width)) in line.iter().zip(&widths).enumerate() {
                // Words to the left, numbers to the right.
                let _ = match index {
                    1 | 2 => write!(table, "| {cell:>width$} "),
                    _ => write!(table, "| {cell:<width$} "),
                };
            }
            table.push_str("|\n");
            if number == 0 {
                table.push_str("|---|--:|--:|---|---|\n");
            }
        }
        table
    }
}

const HEAD: [&str; 5] = ["what", "value", "ratio", "goal", "met"];

/// Three significant digits.
pub(super) fn compact(value: f64) -> String {
    let text = match value.abs() {
        0.0 => return "0".to_owned(),
        size if size >= 100.0 => return grouped(&format!("{value:.0}")),
        size if size >= 10.0 => format!("{value:.1}"),
        size if size >= 0.1 => format!("{value:.2}"),
        _ => format!("{value:.3}"),
    };
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// `12345` as `12,345`.
fn grouped(digits: &str) -> String {
    let (sign, digits) = digits
        .strip_prefix('-')
        .map_or(("", digits), |digits| ("-", digits));
    let mut text = sign.to_owned();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report() -> Report {
        let mut report = Report::default();
        report.add(Row::of("clicks", 46_000.0, "/s").against("H", 92_000.0, Goal::AtLeast(0.5)));
        report.add(Row::of("p99", 31.5, "ms").goal(Goal::AtMost(25.0)));
        report.add(Row::of("RSS", 40.0, "MiB"));
        report
    }

    #[test]
    fn a_goal_is_judged_by_the_ratio_or_by_the_figure() {
        let met: Vec<_> = report().rows.iter().map(Row::is_met).collect();
        assert_eq!(met, [Some(true), Some(false), None]);
        let nothing = Row::of("x", 1.0, "/s").against("H", 0.0, Goal::AtLeast(0.5));
        assert_eq!((nothing.ratio(), nothing.is_met()), (None, Some(false)));
    }

    #[test]
    fn each_round_is_held_against_what_was_measured_with_it() {
        let mut rounds = Rounds::default();
        for (ours, baseline) in [(10.0, 10.0), (20.0, 10.0), (90.0, 30.0)] {
            rounds.add("ours", ours);
            rounds.add("R", baseline);
        }
        let row = rounds.row("x", "ours", "/s", "R", Goal::AtLeast(2.0));
        assert_eq!((row.ratio(), row.is_met()), (Some(2.0), Some(true)));
        assert_eq!(row.other.unwrap().value.to_bits(), 10.0_f64.to_bits());
    }

    #[test]
    fn of_several_rounds_the_median_stands() {
        let mut report = report();
        for value in [70.0, 30.0, 50.0] {
            report.add_round("CPU per click: ingest".to_owned(), value, "µs");
        }
        let row = report.rows.last().unwrap();
        assert_eq!((row.value, report.rows.len()), (50.0, 4));
    }

    #[test]
    fn the_table_says_it_in_line() {
        let expected = "\
| what   |     value |             ratio | goal      | met |
|---|--:|--:|---|---|
| clicks | 46,000 /s | 0.50 × H (92,000) | ≥ 0.5 × H | yes |
| p99    |   31.5 ms |                   | ≤ 25 ms   | NO  |
| RSS    |    40 MiB |                   |           |     |
";
        assert_eq!(report().table(), expected);
    }

    #[test]
    fn what_was_measured_again_is_replaced() {
        let mut report = report();
        report.add(Row::of("RSS", 50.0, "MiB"));
        assert_eq!(report.rows.len(), 3);
        assert_eq!(report.rows[2].value.to_bits(), 50.0_f64.to_bits());
    }

    #[test]
    fn numbers_are_short() {
        let shown = [0.0, 0.0123, 0.5, 3.25, 12.34, 100.4, 1_234_567.0, -1234.0].map(compact);
        assert_eq!(
            shown,
            ["0", "0.012", "0.5", "3.25", "12.3", "100", "1,234,567", "-1,234"]
        );
    }
}
