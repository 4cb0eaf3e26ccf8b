//! Prometheus beside the services of a round, and what it is asked.

use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::net::{Ipv4Addr, SocketAddr};

use anyhow::{Context, Result, ensure};
use harness::ports::Ports;
use harness::servers::prometheus::{NAME, Prometheus};
use serde::Deserialize;
use url::Url;

use super::dashboard::{Query, queries};
use super::faster;
use super::outage::{Expected, Outage};
use crate::schedule::Service;
use crate::stack::Stack;

type Labels = BTreeMap<String, String>;

#[derive(Debug)]
pub(crate) struct Observer {
    prometheus: Prometheus,
    queries: Vec<Query>,
    /// Whether no outage has been yet: nothing of one is counted.
    pub(super) is_fresh: bool,
}

/// A firing alert.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Alert(Labels);

#[derive(Deserialize)]
struct Answer<D> {
    data: D,
}

#[derive(Deserialize)]
struct Alerts {
    alerts: Vec<AlertAnswer>,
}

#[derive(Deserialize)]
struct AlertAnswer {
    labels: Labels,
    state: String,
}

#[derive(Deserialize)]
struct Rules {
    groups: Vec<Group>,
}

#[derive(Deserialize)]
struct Group {
    rules: Vec<Rule>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Rule {
    name: String,
    health: String,
    #[serde(default)]
    last_error: String,
}

#[derive(Deserialize)]
struct Series {
    result: Vec<Sample>,
}

#[derive(Deserialize)]
struct Sample {
    metric: Labels,
    value: (f64, String),
}

impl Stack<'_> {
    pub(crate) fn choose_metrics_ports(&mut self) -> Result<()> {
        let mut ports = Ports::of(&self.services_area)?;
        for service in Service::ALL {
            let name = format!("{}-metrics", service.name());
            self.metrics_ports.insert(service, ports.choose(&name, None)?);
        }
        Ok(())
    }

    /// Where it serves its metrics; `None` unless it is observed.
    pub(crate) fn metrics_address(&self, service: Service) -> Option<SocketAddr> {
        let port = self.metrics_ports.get(&service)?;
        Some(SocketAddr::from((Ipv4Addr::LOCALHOST, *port)))
    }

    /// Starts Prometheus with the deployment's rules.
    pub(crate) fn start_observer(&mut self) -> Result<Observer> {
        let deploy = self.checkout.root.join("deploy");
        let read = |path: &str| {
            let path = deploy.join(path);
            fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))
        };
        let dir = self.area.dir.join(NAME);
        fs::create_dir_all(&dir)?;
        let targets: Vec<(&str, String)> = Service::ALL
            .into_iter()
            .filter_map(|service| Some((service.program(), self.metrics_address(service)?.to_string())))
            .collect();
        let config = dir.join("prometheus.yaml");
        fs::write(
            &config,
            faster::config(&read("prometheus/prometheus.yaml")?, &targets)?,
        )?;
        fs::write(
            dir.join("alerts.yaml"),
            faster::rules(&read("prometheus/alerts.yaml")?)?,
        )?;
        Ok(Observer {
            prometheus: Prometheus::start(
                self.checkout,
                &self.area,
                &config,
                &mut self.running,
                self.interrupt,
            )?,
            queries: queries(
                &read("grafana/dashboards/referral-tracker.json")?,
                &read("grafana/provisioning/datasources/prometheus.yaml")?,
            )?,
            is_fresh: true,
        })
    }
}

impl Observer {
    pub(super) fn firing(&self) -> Result<Vec<Alert>> {
        let answer: Answer<Alerts> = serde_json::from_str(&self.prometheus.ask("/api/v1/alerts")?)?;
        let firing = answer
            .data
            .alerts
            .into_iter()
            .filter(|alert| alert.state == "firing");
        Ok(firing.map(|alert| Alert(alert.labels)).collect())
    }

    /// Rules that Prometheus could not evaluate.
    pub(super) fn broken_rules(&self) -> Result<Vec<String>> {
        let answer: Answer<Rules> = serde_json::from_str(&self.prometheus.ask("/api/v1/rules")?)?;
        let rules: Vec<Rule> = answer
            .data
            .groups
            .into_iter()
            .flat_map(|group| group.rules)
            .collect();
        ensure!(!rules.is_empty(), "Prometheus has no rules");
        let broken = rules.into_iter().filter(|rule| rule.health != "ok");
        Ok(broken
            .map(|rule| format!("{}: {} {}", rule.name, rule.health, rule.last_error))
            .collect())
    }

    /// Targets whose last scrape failed, and those that were not scraped yet.
    pub(super) fn unscraped(&self) -> Result<usize> {
        let up = self.samples("up == 1")?;
        Ok(Service::ALL.len().saturating_sub(up.len()))
    }

    /// Panels without data that have some in ordinary traffic, or in this outage.
    pub(super) fn empty_panels(&self, outage: Option<Outage>) -> Result<Vec<String>> {
        self.panels(|needs| needs == outage, |has_data| !has_data)
    }

    /// Panels with data before any outage, that should have some only in one.
    pub(super) fn unexpected_panels(&self) -> Result<Vec<String>> {
        if !self.is_fresh {
            return Ok(Vec::new());
        }
        self.panels(|needs| needs.is_some(), |has_data| has_data)
    }

    fn panels(
        &self,
        needing: impl Fn(Option<Outage>) -> bool,
        wanted: impl Fn(bool) -> bool,
    ) -> Result<Vec<String>> {
        let mut found = Vec::new();
        for query in self.queries.iter().filter(|query| needing(query.needs())) {
            if wanted(self.has_data(query)?) {
                found.push(format!("{}: {}", query.panel, query.expression));
            }
        }
        Ok(found)
    }

    /// Whether a series has a number. Fails if a series lacks a label of the legend.
    fn has_data(&self, query: &Query) -> Result<bool> {
        let samples = self.samples(&query.expression)?;
        for label in query.legend_labels() {
            ensure!(
                samples.iter().all(|sample| sample.metric.contains_key(label)),
                "{}: a series has no {label}, which the legend shows",
                query.panel
            );
        }
        Ok(samples.iter().any(|sample| sample.value.1 != "NaN"))
    }

    fn samples(&self, expression: &str) -> Result<Vec<Sample>> {
        let query = Url::parse_with_params(
            &format!("{}/api/v1/query", self.prometheus.url()),
            [("query", expression)],
        )?;
        let path = format!("{}?{}", query.path(), query.query().unwrap_or_default());
        let answer: Answer<Series> = serde_json::from_str(&self.prometheus.ask(&path)?)?;
        Ok(answer.data.result)
    }
}

impl Alert {
    pub(super) fn is(&self, expected: &Expected) -> bool {
        let has = |(label, value): &(&str, &str)| self.0.get(*label).is_some_and(|found| found == value);
        has(&("alertname", expected.name)) && expected.labels.iter().all(has)
    }
}

impl fmt::Display for Alert {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.get("alertname").map_or("?", String::as_str))?;
        let shown = self
            .0
            .iter()
            .filter(|(label, _)| !matches!(label.as_str(), "alertname" | "job"));
        let labels: Vec<String> = shown.map(|(label, value)| format!("{label}={value}")).collect();
        write!(f, "{{{}}}", labels.join(", "))
    }
}
