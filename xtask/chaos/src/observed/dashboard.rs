//! The queries of the Grafana dashboard, with its variables resolved as Grafana does.

use std::collections::BTreeSet;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::faster::RATE_INTERVAL_SECONDS;
use super::outage::Outage;

/// Queries that return data only in an outage, by a part of the expression.
const EXCEPTIONS: [(&str, Outage); 3] = [
    (r#"status=~"5..""#, Outage::WorkersAway),
    ("referral_step_failures_total", Outage::PostgresAway),
    ("referral_publish_failures_total", Outage::NatsAway),
];

/// A query of a panel.
#[derive(Debug, Clone)]
pub(super) struct Query {
    pub(super) panel: String,
    pub(super) expression: String,
    legend: String,
}

impl Query {
    /// What it has data in; `None`: ordinary traffic.
    pub(super) fn needs(&self) -> Option<Outage> {
        EXCEPTIONS
            .iter()
            .find(|(part, _)| self.expression.contains(part))
            .map(|(_, outage)| *outage)
    }

    /// Labels that the legend shows.
    pub(super) fn legend_labels(&self) -> BTreeSet<&str> {
        let parts = self.legend.split("{{").skip(1);
        parts
            .filter_map(|part| Some(part.split_once("}}")?.0.trim()))
            .collect()
    }
}

/// `provisioned`: the file of data sources.
pub(super) fn queries(dashboard: &str, provisioned: &str) -> Result<Vec<Query>> {
    let dashboard: Value = serde_json::from_str(dashboard)?;
    let variable = text(&dashboard, "/templating/list/0/name");
    let source = text(&dashboard, "/templating/list/0/current/value").context("no data source is chosen")?;
    ensure!(
        variable == Some("datasource") && provisioned.contains(&format!("uid: {source}\n")),
        "the dashboard's data source {source} is not provisioned"
    );
    let mut queries = Vec::new();
    for panel in list(&dashboard, "/panels") {
        let title = text(panel, "/title").context("a panel has no title")?;
        for target in list(panel, "/targets") {
            ensure!(
                text(target, "/datasource/uid") == Some("${datasource}"),
                "{title} uses another data source"
            );
            let expression = text(target, "/expr")
                .context("a query has no expression")?
                .replace("$__rate_interval", &format!("{RATE_INTERVAL_SECONDS}s"));
            ensure!(
                !expression.contains('$'),
                "{title}: Grafana does not know a variable of {expression}"
            );
            queries.push(Query {
                panel: title.to_owned(),
                expression,
                legend: text(target, "/legendFormat").unwrap_or_default().to_owned(),
            });
        }
    }
    for (part, _) in EXCEPTIONS {
        ensure!(
            queries.iter().any(|query| query.expression.contains(part)),
            "no panel has the exception {part}"
        );
    }
    Ok(queries)
}

fn text<'a>(value: &'a Value, pointer: &str) -> Option<&'a str> {
    value.pointer(pointer)?.as_str()
}

/// Empty unless there is a list.
pub(super) fn list<'a>(value: &'a Value, pointer: &str) -> impl Iterator<Item = &'a Value> {
    value
        .pointer(pointer)
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
}
