//! Operations documents and files agree: alerts, metrics, runbook and dashboard; versions; the package's files.

use std::collections::BTreeSet;
use std::fs;
use std::process::Command;

use super::{assert_each, read, root, sources_below};

/// What follows a mark at the beginning of a line.
fn after<'a>(text: &'a str, mark: &str) -> Vec<&'a str> {
    text.lines()
        .filter_map(|line| line.trim_start().strip_prefix(mark))
        .collect()
}

/// The anchor of a heading.
fn anchor(heading: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || c == ' ' || c == '-';
    let kept: String = heading.to_lowercase().chars().filter(|c| plain(*c)).collect();
    kept.replace(' ', "-")
}

#[test]
fn each_alert_has_its_section_in_the_runbook_and_each_section_its_alert() {
    let (rules, runbook) = (read("deploy/prometheus/alerts.yaml"), read("docs/runbook.md"));
    let named = after(&rules, "runbook: docs/runbook.md#");
    let alerts = after(&rules, "- alert: ").len();
    assert_eq!(named.len(), alerts, "an alert names no section");
    let anchors: Vec<String> = after(&runbook, "## ").into_iter().map(anchor).collect();
    assert_each("not in the runbook", 21, &named, |name| {
        anchors.iter().any(|anchor| anchor == name)
    });
    let (_, alerts) = runbook.split_once("\n# Alerts\n").unwrap();
    let (alerts, _) = alerts.split_once("\n# Situations\n").unwrap();
    assert_each("no alert leads here", 21, &after(alerts, "## "), |section| {
        named.contains(&anchor(section).as_str())
    });
}

/// The runbook writes a log text as: logs `text`.
#[test]
fn every_log_text_of_the_runbook_is_in_the_sources() {
    let dirs = ["common", "ingest/src", "worker/src", "webhook-consumer/src"];
    let files = dirs.into_iter().flat_map(sources_below);
    let sources: String = files.map(|path| fs::read_to_string(path).unwrap()).collect();
    let runbook = read("docs/runbook.md");
    // A line may end between the two words.
    let runbook = runbook.split_whitespace().collect::<Vec<_>>().join(" ");
    let logged = runbook.split("logs `").skip(1);
    let texts: Vec<&str> = logged.filter_map(|rest| rest.split('`').next()).collect();
    assert_each("no service logs this", 13, &texts, |text| sources.contains(*text));
}

/// `promtool` runs the tests; this checks that every alert has them.
#[test]
fn each_alert_is_tested_to_fire_and_to_stay_silent() {
    let rules = read("deploy/prometheus/alerts.yaml");
    let tests = read("deploy/prometheus/alerts.test.yaml");
    for (what, expected) in [("fire", ""), ("stay silent", " []")] {
        assert_each(what, 21, &after(&rules, "- alert: "), |alert| {
            let played = format!("alertname: {alert}\n        exp_alerts:{expected}\n");
            tests.contains(&played)
        });
    }
}

/// Names of metrics in rules or expressions.
fn metrics(file: &str) -> Vec<String> {
    let text = read(file);
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let words = text.split(|c: char| !is_part(c));
    let named: BTreeSet<&str> = words.filter(|word| word.starts_with("referral_")).collect();
    named.into_iter().map(str::to_owned).collect()
}

#[test]
fn every_metric_of_alerts_and_dashboard_exists() {
    let declared = metrics("common/runtime/src/metrics.rs");
    assert!(declared.len() > 30, "{declared:?}");
    for file in [
        "deploy/prometheus/alerts.yaml",
        "deploy/prometheus/alerts.test.yaml",
        "deploy/grafana/dashboards/referral-tracker.json",
    ] {
        assert_each(file, 5, &metrics(file), |name| {
            let of_histogram = ["_bucket", "_sum", "_count"]
                .iter()
                .find_map(|end| name.strip_suffix(end));
            [Some(name.as_str()), of_histogram]
                .into_iter()
                .flatten()
                .any(|name| declared.iter().any(|metric| metric == name))
        });
    }
}

/// The package is rarely built; this notices a moved file.
#[test]
fn every_file_of_the_package_exists() {
    let manifest = read("ctl/Cargo.toml");
    let sources = after(&manifest, "[\"../");
    assert_each("no such file", 11, &sources, |source| {
        let pattern = source.split('"').next().unwrap();
        let mut list = Command::new("sh");
        list.current_dir(root()).args(["-c", &format!("ls {pattern}")]);
        list.output().unwrap().status.success()
    });
    // The package also contains the program of each unit.
    for entry in fs::read_dir(root().join("deploy/systemd")).unwrap() {
        let unit = fs::read_to_string(entry.unwrap().path()).unwrap();
        for command in after(&unit, "ExecStart=/usr/lib/referral-tracker/") {
            let program = command.split(' ').next().unwrap();
            let asset = format!("[\"target/release/{program}\", \"usr/lib/referral-tracker/\"");
            assert!(manifest.contains(&asset), "{program}");
        }
    }
}
