//! Prometheus beside the services of a round, and what it is asked.

use std::collections::BTreeMap;
use std::fs;

use anyhow::{Context, Result, ensure};
use harness::servers::prometheus::{NAME, Prometheus};
use serde::Deserialize;
use serde_json::Value;
use url::Url;

use super::dashboard::{Query, list, queries};
use super::faster;
use super::outage::Outage;
use crate::schedule::Service;
use crate::stack::Stack;

#[derive(Debug)]
pub(crate) struct Observer {
    prometheus: Prometheus,
    queries: Vec<Query>,
}

/// The labels of a firing alert.
pub(super) type Alert = BTreeMap<String, String>;

impl Stack<'_> {
    /// Starts Prometheus with the deployment's rules.
    pub(crate) fn start_observer(&mut self) -> Result<()> {
        let deploy = self.checkout.root.join("deploy");
        let read = |path: &str| {
            let path = deploy.join(path);
            fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))
        };
        let dir = self.area.dir.join(NAME);
        fs::create_dir_all(&dir)?;
        let targets =
            Service::ALL.map(|service| (service.program(), self.metrics_address(service).to_string()));
        let config = dir.join("prometheus.yaml");
        fs::write(
            &config,
            faster::config(&read("prometheus/prometheus.yaml")?, &targets)?,
        )?;
        fs::write(
            dir.join("alerts.yaml"),
            faster::rules(&read("prometheus/alerts.yaml")?)?,
        )?;
        self.observer = Some(Observer {
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
        });
        Ok(())
    }
}

impl Observer {
    pub(super) fn firing(&self) -> Result<Vec<Alert>> {
        let answer = self.ask("/api/v1/alerts")?;
        list(&answer, "/data/alerts")
            .filter(|alert| alert["state"] == "firing")
            .map(|alert| Ok(Alert::deserialize(&alert["labels"])?))
            .collect()
    }

    /// Rules that Prometheus could not evaluate.
    pub(super) fn broken_rules(&self) -> Result<Vec<String>> {
        let answer = self.ask("/api/v1/rules")?;
        let groups = list(&answer, "/data/groups");
        let rules: Vec<&Value> = groups.flat_map(|group| list(group, "/rules")).collect();
        ensure!(!rules.is_empty(), "Prometheus has no rules");
        let broken = rules.into_iter().filter(|rule| rule["health"] != "ok");
        Ok(broken
            .map(|rule| format!("a rule cannot be evaluated: {rule}"))
            .collect())
    }

    /// Whether the last scrape of every service succeeded.
    pub(super) fn all_scraped(&self) -> Result<bool> {
        Ok(self.samples("up == 1")?.len() == Service::ALL.len())
    }

    /// Panels without data that have some in ordinary traffic, or in this outage.
    pub(super) fn empty_panels(&self, outage: Option<Outage>) -> Result<Vec<String>> {
        let mut empty = Vec::new();
        for query in self.queries.iter().filter(|query| query.needs() == outage) {
            if !self.has_data(query)? {
                empty.push(format!("{}: {}", query.panel, query.expression));
            }
        }
        Ok(empty)
    }

    /// Whether a series has a number. Fails if a series lacks a label of the legend.
    fn has_data(&self, query: &Query) -> Result<bool> {
        let samples = self.samples(&query.expression)?;
        for label in query.legend_labels() {
            ensure!(
                samples.iter().all(|sample| sample["metric"].get(label).is_some()),
                "{}: a series has no {label}, which the legend shows",
                query.panel
            );
        }
        let mut values = samples.iter().filter_map(|sample| sample.pointer("/value/1"));
        Ok(values.any(|value| value != "NaN"))
    }

    fn samples(&self, expression: &str) -> Result<Vec<Value>> {
        let query = Url::parse_with_params(
            &format!("{}/api/v1/query", self.prometheus.url()),
            [("query", expression)],
        )?;
        let path = format!("{}?{}", query.path(), query.query().unwrap_or_default());
        let answer = self.ask(&path)?;
        Ok(list(&answer, "/data/result").cloned().collect())
    }

    fn ask(&self, path: &str) -> Result<Value> {
        Ok(serde_json::from_str(&self.prometheus.ask(path)?)?)
    }
}
