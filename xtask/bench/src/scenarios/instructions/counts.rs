//! Counted instructions, and how they compare with kept ones.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

use crate::outcome::float;

/// The share of the kept count that a request may cost more.
const TOLERANCE: f64 = 0.05;

#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Counts {
    pub(super) compiler: String,
    /// Instructions of one request, by route.
    pub(super) routes: BTreeMap<String, u64>,
}

impl Counts {
    pub(super) fn read(path: &Path) -> Result<Self> {
        let text = fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
        serde_json::from_slice(&text).with_context(|| format!("{} is damaged", path.display()))
    }

    pub(super) fn write(&self, path: &Path) -> Result<()> {
        let text = serde_json::to_string_pretty(self)? + "\n";
        fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))
    }

    pub(super) fn table(&self, kept: &Self) -> String {
        let mut table = "| route | instructions | kept | change |\n|---|--:|--:|--:|\n".to_owned();
        for (route, count) in &self.routes {
            let before = kept.routes.get(route).copied();
            let change = before.map(|before| 100.0 * (float(*count) / float(before.max(1)) - 1.0));
            let change = change
                .map(|percent| format!("{percent:+.1} %"))
                .unwrap_or_default();
            let before = before.map(|before| before.to_string()).unwrap_or_default();
            // Writing to a string cannot fail.
            let _ = writeln!(table, "| {route} | {count} | {before} | {change} |");
        }
        if !kept.compiler.is_empty() && self.compiler != kept.compiler {
            let _ = write!(
                table,
                "\nCompiled by {}, the kept ones by {}: a change may be the compiler's.\n",
                self.compiler, kept.compiler
            );
        }
        table
    }

    /// The routes that cost more than before.
    pub(super) fn costlier(&self, kept: &Self) -> Vec<&str> {
        let is_costlier = |(route, count): &(&String, &u64)| {
            let before = kept.routes.get(*route);
            before.is_some_and(|before| float(**count) > (1.0 + TOLERANCE) * float(*before))
        };
        self.routes
            .iter()
            .filter(is_costlier)
            .map(|(route, _)| route.as_str())
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(compiler: &str, routes: &[(&str, u64)]) -> Counts {
        Counts {
            compiler: compiler.to_owned(),
            routes: routes
                .iter()
                .map(|(route, count)| ((*route).to_owned(), *count))
                .collect(),
        }
    }

    #[test]
    fn a_route_may_cost_five_percent_more() {
        let kept = counts(
            "1.95",
            &[("click", 1000), ("gone", 1), ("lead", 1000), ("sale", 1000)],
        );
        let now = counts(
            "1.95",
            &[("click", 1050), ("lead", 1051), ("new", 7), ("sale", 10)],
        );
        assert_eq!(now.costlier(&kept), ["lead"]);
        let table = now.table(&kept);
        assert!(
            table.contains(
                "| lead | 1051 | 1000 | +5.1 % |\n| new | 7 |  |  |\n| sale | 10 | 1000 | -99.0 % |\n"
            ),
            "{table}"
        );
        assert!(!table.contains("Compiled"), "{table}");
    }

    #[test]
    fn another_compiler_is_named() {
        let (now, kept) = (counts("1.96", &[]), counts("1.95", &[]));
        assert!(now.table(&kept).contains("by 1.96, the kept ones by 1.95"));
        assert!(!now.table(&Counts::default()).contains("Compiled"));
    }
}
