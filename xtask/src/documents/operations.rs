//! What an operator relies on holds together: alerts, metrics, runbook and dashboard; links; versions; what the package brings.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use super::{read, root};

/// As a link to a heading names it.
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

/// `promtool` plays them; this only sees to it that none is left out.
#[test]
fn each_alert_is_seen_to_fire_and_to_keep_quiet() {
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
            "{alert} is never seen to fire"
        );
        assert!(
            tests.contains(&format!("{played} []\n")),
            "{alert} is never seen to keep quiet"
        );
    }
}

/// Links within a document, and to headings of others.
#[test]
fn every_section_a_link_names_is_there() {
    let anchors = |document: &Path| -> BTreeSet<String> {
        let text = fs::read_to_string(document).unwrap();
        let headings = text.lines().filter(|line| line.starts_with('#'));
        headings
            .map(|line| anchor(line.trim_start_matches('#').trim_start()))
            .collect()
    };
    for file in [
        "docs/runbook.md",
        "docs/upgrade.md",
        "docs/scaling.md",
        "deploy/README.md",
        "README.md",
    ] {
        let path = root().join(file);
        let text = read(file);
        let links = text.split("](").skip(1).filter_map(|rest| rest.split(')').next());
        for link in links.filter(|link| !link.contains("://")) {
            let (target, section) = link
                .split_once('#')
                .map_or((link, None), |(to, at)| (to, Some(at)));
            let target = match target {
                "" => path.clone(),
                target => path.parent().unwrap().join(target),
            };
            assert!(target.exists(), "{file}: {link}");
            if let Some(section) = section {
                assert!(anchors(&target).contains(section), "{file}: {link}");
            }
        }
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

/// What shows nothing warns of nothing.
#[test]
fn every_metric_that_alerts_and_dashboard_look_at_is_one_the_services_have() {
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

/// A tag, a package and a document that name another version than is built would bring the wrong one.
#[test]
fn the_version_is_the_same_wherever_it_stands() {
    let version = env!("CARGO_PKG_VERSION");
    for (file, wanted) in [
        (
            "deploy/compose.yaml",
            format!("image: referral-tracker:{version}\n"),
        ),
        ("deploy/Dockerfile", format!("--tag referral-tracker:{version} ")),
        (
            "deploy/kubernetes/overlays/production/kustomization.yaml",
            format!("newTag: {version}\n"),
        ),
        (
            "deploy/kubernetes/overlays/single-node/kustomization.yaml",
            format!("newTag: {version}\n"),
        ),
        (
            "deploy/README.md",
            format!("referral-tracker_{version}-1_amd64.deb"),
        ),
    ] {
        assert!(read(file).contains(&wanted), "{file}: no {wanted}");
    }
}

/// The package is built seldom; a file that was moved is noticed here.
#[test]
fn everything_the_package_brings_is_there() {
    let manifest = read("ctl/Cargo.toml");
    let sources: Vec<&str> = manifest
        .lines()
        .filter_map(|line| line.trim().strip_prefix("[\"../")?.split('"').next())
        .collect();
    assert!(sources.len() > 10, "{sources:?}");
    for source in sources {
        let (dir, name) = source.rsplit_once('/').unwrap();
        let (before, after) = name.split_once('*').unwrap_or((name, ""));
        let entries = fs::read_dir(root().join(dir)).unwrap_or_else(|error| panic!("{source}: {error}"));
        let mut names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        assert!(
            names.any(|name| name.starts_with(before) && name.ends_with(after)),
            "{source}"
        );
    }
    // What each unit starts is brought, too.
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
