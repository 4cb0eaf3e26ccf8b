//! Prometheus' files of `deploy/prometheus`, for a test that takes minutes.
//!
//! Two things differ from an installation: where the services are, and how long Prometheus waits. `for:`, the ranges of expressions and
//! the evaluation interval are divided by [`FASTER`]. Services are scraped every [`SCRAPE_INTERVAL_SECONDS`], because their page takes two seconds while
//! a server is away. Expressions, thresholds and labels stay as they are: ages that services report are in real seconds.

use std::fmt::Write as _;

use anyhow::{Context, Result, ensure};

const FASTER: u64 = 15;
const SCRAPE_INTERVAL_SECONDS: u64 = 3;
/// What Grafana makes of it: four scrapes.
pub(super) const RATE_INTERVAL_SECONDS: u64 = 4 * SCRAPE_INTERVAL_SECONDS;

/// Before each duration of a rule.
const BEFORE_DURATIONS: [&str; 3] = ["for: ", "[", "offset "];

pub(super) fn rules(of_deployment: &str) -> Result<String> {
    let mut text = of_deployment.to_owned();
    for before in BEFORE_DURATIONS {
        text = shortened(&text, before)?;
    }
    Ok(text)
}

fn shortened(text: &str, before: &str) -> Result<String> {
    let mut parts = text.split(before);
    let mut short = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let end = part
            .find(|c: char| !c.is_ascii_alphanumeric())
            .unwrap_or(part.len());
        let (duration, rest) = part.split_at(end);
        let milliseconds =
            milliseconds(duration).with_context(|| format!("no duration after `{before}`: {duration}"))?;
        write!(short, "{before}{}ms{rest}", milliseconds / FASTER)?;
    }
    Ok(short)
}

fn milliseconds(duration: &str) -> Option<u64> {
    let number = duration.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let seconds = match duration.strip_prefix(number)? {
        "s" => 1,
        "m" => 60,
        "h" => 3_600,
        "d" => 86_400,
        "w" => 604_800,
        _ => return None,
    };
    Some(number.parse::<u64>().ok()? * seconds * 1_000)
}

/// `targets`: a name of the deployment's and an address.
pub(super) fn config(of_deployment: &str, targets: &[(&str, String)]) -> Result<String> {
    let (before, discovery) = of_deployment
        .split_once("    dns_sd_configs:\n")
        .context("prometheus.yaml finds its targets in another way")?;
    let (discovery, after) = discovery
        .split_once("    relabel_configs:\n")
        .context("prometheus.yaml does not label its targets")?;
    let mut here = "    static_configs:\n".to_owned();
    for (name, address) in targets {
        ensure!(discovery.contains(name), "prometheus.yaml does not scrape {name}");
        writeln!(
            here,
            "      - {{targets: [\"{address}\"], labels: {{__meta_dns_name: {name}}}}}"
        )?;
    }
    let text = format!("{before}{here}    relabel_configs:\n{after}");
    let scraped = with_interval(&text, "scrape_interval", &format!("{SCRAPE_INTERVAL_SECONDS}s"))?;
    with_interval(&scraped, "evaluation_interval", "1s")
}

fn with_interval(text: &str, name: &str, interval: &str) -> Result<String> {
    let given = format!("  {name}: 15s\n");
    ensure!(text.contains(&given), "prometheus.yaml has another {name}");
    Ok(text.replace(&given, &format!("  {name}: {interval}\n")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_durations_of_rules_are_divided() {
        let rule = "expr: sum(rate(a[5m] offset 1w)) > 300 and predict_linear(b[6h], 3600) > 1\nfor: 30s\nsummary: within 5m\n";
        let short = "expr: sum(rate(a[20000ms] offset 40320000ms)) > 300 and predict_linear(b[1440000ms], 3600) > 1\nfor: 2000ms\nsummary: within 5m\n";
        assert_eq!(rules(rule).unwrap(), short);
        assert!(rules("for: ever\n").is_err());
    }

    #[test]
    fn targets_get_the_labels_of_the_deployment() {
        let given = "global:\n  scrape_interval: 15s\n  evaluation_interval: 15s\nscrape_configs:\n  - job_name: a\n    dns_sd_configs:\n      - names: [ingest, worker]\n    relabel_configs:\n      - target_label: service\n";
        let here = "global:\n  scrape_interval: 3s\n  evaluation_interval: 1s\nscrape_configs:\n  - job_name: a\n    static_configs:\n      - {targets: [\"127.0.0.1:1\"], labels: {__meta_dns_name: ingest}}\n    relabel_configs:\n      - target_label: service\n";
        let targets = [("ingest", "127.0.0.1:1".to_owned())];
        assert_eq!(config(given, &targets).unwrap(), here);
        assert!(config(given, &[("mailer", String::new())]).is_err());
    }
}
