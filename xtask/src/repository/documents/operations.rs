//! Operations documents and files agree: alerts, metrics, runbook and dashboard; versions; the package's files.

use super::{read, root};
use crate::repository::sources_below;
use std::collections::BTreeSet;
use std::fs;

/// The anchor of a heading.
fn anchor(heading: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || c == ' ' || c == '-';
    let kept: String = heading.to_lowercase().chars().filter(|c| plain(*c)).collect();
    kept.replace(' ', "-")
}

#[test]
fn each_alert_has_its_section_in_the_runbook_and_each_section_its_alert() {
    let (rules, runbook) = (read("deploy/prometheus/alerts.yaml"), read("docs/runbook.md"));
    let anchors: BTreeSet<String> = runbook
        .lines()
        .filter_map(|line| line.strip_prefix("## "))
        .map(anchor)
        .collect();
    let named: Vec<&str> = rules
        .lines()
        .filter_map(|line| line.trim().strip_prefix("runbook: docs/runbook.md#"))
        .collect();
    assert_eq!(
        named.len(),
        rules.matches("- alert: ").count(),
        "an alert names no section"
    );
    assert!(named.len() > 20, "{named:?}");
    let missing: Vec<_> = named.iter().filter(|name| !anchors.contains(**name)).collect();
    assert!(missing.is_empty(), "not in the runbook: {missing:?}");
    let (_, alerts) = runbook.split_once("\n# Alerts\n").unwrap();
    let (alerts, _) = alerts.split_once("\n# Situations\n").unwrap();
    for section in alerts.lines().filter_map(|line| line.strip_prefix("## ")) {
        assert!(
            named.contains(&anchor(section).as_str()),
            "{section}: no alert leads here"
        );
    }
}

/// The runbook writes a log text as: logs `text`.
#[test]
fn every_log_text_of_the_runbook_is_in_the_sources() {
    let dirs = ["common", "ingest/src", "worker/src", "webhook-consumer/src"];
    let files = dirs.iter().flat_map(|dir| sources_below(&root().join(dir)));
    let sources: String = files.map(|path| fs::read_to_string(path).unwrap()).collect();
    // A line may end between the two words.
    let runbook = read("docs/runbook.md")
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ");
    let texts: Vec<&str> = runbook
        .split("logs `")
        .skip(1)
        .filter_map(|rest| rest.split('`').next())
        .collect();
    assert!(texts.len() > 12, "{texts:?}");
    let missing: Vec<_> = texts.iter().filter(|text| !sources.contains(**text)).collect();
    assert!(missing.is_empty(), "no service logs this: {missing:?}");
}

/// `promtool` runs the tests; this checks that every alert has them.
#[test]
fn each_alert_is_tested_to_fire_and_to_stay_silent() {
    let (rules, tests) = (
        read("deploy/prometheus/alerts.yaml"),
        read("deploy/prometheus/alerts.test.yaml"),
    );
    for alert in rules
        .lines()
        .filter_map(|line| line.trim().strip_prefix("- alert: "))
    {
        let played = format!("alertname: {alert}\n        exp_alerts:");
        assert!(
            tests.contains(&format!("{played}\n")),
            "{alert} is never tested to fire"
        );
        assert!(
            tests.contains(&format!("{played} []\n")),
            "{alert} is never tested to stay silent"
        );
    }
}

/// Names of metrics in rules or expressions.
fn metrics(text: &str) -> BTreeSet<String> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    text.split(|c: char| !is_part(c))
        .filter(|word| word.starts_with("referral_"))
        .map(str::to_owned)
        .collect()
}

#[test]
fn every_metric_of_alerts_and_dashboard_exists() {
    let declared = metrics(&read("common/runtime/src/metrics.rs"));
    assert!(declared.len() > 30, "{declared:?}");
    for file in [
        "deploy/prometheus/alerts.yaml",
        "deploy/prometheus/alerts.test.yaml",
        "deploy/grafana/dashboards/referral-tracker.json",
    ] {
        let named = metrics(&read(file));
        assert!(named.len() > 4, "{file}: {named:?}");
        let is_there = |name: &&String| {
            let of_histogram = ["_bucket", "_sum", "_count"]
                .iter()
                .find_map(|end| name.strip_suffix(end));
            declared.contains(*name) || of_histogram.is_some_and(|name| declared.contains(name))
        };
        let missing: Vec<_> = named.iter().filter(|name| !is_there(name)).collect();
        assert!(missing.is_empty(), "{file}: {missing:?}");
    }
}

/// The package is rarely built; this notices a moved file.
#[test]
fn every_file_of_the_package_exists() {
    let manifest = read("ctl/Cargo.toml");
    let sources: Vec<&str> = manifest
        .lines()
        .filter_map(|line| line.trim().strip_prefix("[\"../")?.split('"').next())
        .collect();
    assert!(sources.len() > 10, "{sources:?}");
    for source in sources {
        let (dir, name) = source.rsplit_once('/').unwrap_or((".", source));
        let (before, after) = name.split_once('*').unwrap_or((name, ""));
        let entries = fs::read_dir(root().join(dir)).unwrap_or_else(|error| panic!("{source}: {error}"));
        let mut names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        assert!(
            names.any(|name| name.starts_with(before) && name.ends_with(after)),
            "{source}"
        );
    }
    // The package also contains the program of each unit.
    for entry in fs::read_dir(root().join("deploy/systemd")).unwrap() {
        let unit = fs::read_to_string(entry.unwrap().path()).unwrap();
        let started = unit
            .lines()
            .filter_map(|line| line.strip_prefix("ExecStart=/usr/lib/referral-tracker/"));
        for program in started.map(|command| command.split(' ').next().unwrap()) {
            let asset = format!("[\"target/release/{program}\", \"usr/lib/referral-tracker/\"");
            assert!(manifest.contains(&asset), "{program}");
        }
    }
}
