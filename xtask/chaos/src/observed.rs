//! Rounds that Prometheus watches, with the rules of `deploy/prometheus` and the queries of `deploy/grafana`.
//!
//! In ordinary traffic no alert fires, and every panel has data. An outage lasts until the alerts that it explains fire; no other may.
//! Afterwards all of them resolve.

mod dashboard;
mod faster;
mod observer;
mod outage;

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

use self::observer::Alert;
pub(super) use self::observer::Observer;
use self::outage::Expected;
pub(super) use self::outage::Outage;
use super::round::RunningRound;

const LOOK_EVERY: Duration = Duration::from_millis(500);
/// Longer than every rule waits.
const ORDINARY: Duration = Duration::from_secs(30);
/// Generous: what takes longer never comes.
const DATA_LIMIT: Duration = Duration::from_mins(2);
const FIRE_LIMIT: Duration = Duration::from_mins(5);
const RESOLVE_LIMIT: Duration = Duration::from_mins(8);

impl RunningRound<'_, '_> {
    pub(super) fn observed(&mut self, outage: Outage) -> Result<()> {
        self.look_at_ordinary_traffic()?;
        if outage == Outage::ReceiverDead {
            self.subscriber.set_dead(true);
        }
        for fault in outage.faults() {
            self.stack.begin(fault)?;
        }
        let mut fired = BTreeSet::new();
        self.wait_for_alerts(outage, &mut fired)?;
        self.subscriber.set_dead(false);
        for fault in outage.faults() {
            self.stack.end(fault)?;
        }
        self.stack.wait_until_ready()?;
        self.wait_until_resolved(&mut fired)?;
        let due = self.subscriber.make_retries_due(&self.stack.pool);
        self.stack.runtime.block_on(due)?;
        let explained = [outage.fires(), outage.may_fire()].concat();
        for alert in &fired {
            if !explained.iter().any(|expected| expected.is(alert)) {
                self.violations
                    .push(format!("the outage does not explain {alert:?}"));
            }
        }
        let broken = self.observer()?.broken_rules()?;
        self.violations.extend(broken);
        Ok(())
    }

    fn observer(&self) -> Result<&Observer> {
        self.stack.observer.as_ref().context("Prometheus does not run")
    }

    fn look_at_ordinary_traffic(&mut self) -> Result<()> {
        let mut empty = Vec::new();
        self.look_until(DATA_LIMIT, |observer| {
            empty = observer.empty_panels(None)?;
            Ok(empty.is_empty() && observer.all_scraped()?)
        })?;
        let empty = empty.into_iter();
        self.violations
            .extend(empty.map(|panel| format!("no data in ordinary traffic: {panel}")));
        let mut fired = BTreeSet::new();
        self.look_until(ORDINARY, |observer| {
            fired.extend(observer.firing()?);
            Ok(false)
        })?;
        let fired = fired.into_iter();
        self.violations
            .extend(fired.map(|alert| format!("fires in ordinary traffic: {alert:?}")));
        Ok(())
    }

    /// Until each alert of the outage has fired, and each panel of it has data.
    fn wait_for_alerts(&mut self, outage: Outage, fired: &mut BTreeSet<Alert>) -> Result<()> {
        let mut missing = outage.fires();
        let mut empty = Vec::new();
        self.look_until(FIRE_LIMIT, |observer| {
            fired.extend(observer.firing()?);
            missing.retain(|expected: &Expected| !fired.iter().any(|alert| expected.is(alert)));
            empty = observer.empty_panels(Some(outage))?;
            Ok(missing.is_empty() && empty.is_empty())
        })?;
        let missing = missing.into_iter();
        self.violations
            .extend(missing.map(|expected| format!("{expected:?} does not fire")));
        let empty = empty.into_iter();
        self.violations
            .extend(empty.map(|panel| format!("no data in the outage: {panel}")));
        Ok(())
    }

    /// Adds what fires meanwhile.
    fn wait_until_resolved(&mut self, fired: &mut BTreeSet<Alert>) -> Result<()> {
        let mut firing = Vec::new();
        self.look_until(RESOLVE_LIMIT, |observer| {
            firing = observer.firing()?;
            fired.extend(firing.iter().cloned());
            Ok(firing.is_empty())
        })?;
        let stuck = firing.into_iter();
        self.violations
            .extend(stuck.map(|alert| format!("does not resolve: {alert:?}")));
        Ok(())
    }

    /// Until there is no need to look further, or the time is over.
    fn look_until(
        &mut self,
        limit: Duration,
        mut is_enough: impl FnMut(&Observer) -> Result<bool>,
    ) -> Result<()> {
        let until = Instant::now() + limit;
        while !is_enough(self.observer()?)? && Instant::now() < until {
            self.watch_for(LOOK_EVERY)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::*;
    use crate::schedule::Service;

    /// These rounds are run by hand; this notices earlier that they could not use a file of the deployment.
    #[test]
    fn files_of_the_deployment_can_be_observed() {
        let deploy = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy");
        let read = |path: &str| fs::read_to_string(deploy.join(path)).unwrap();
        let alerts = read("prometheus/alerts.yaml");
        faster::rules(&alerts).unwrap();
        let targets = Service::ALL.map(|service| (service.program(), String::new()));
        faster::config(&read("prometheus/prometheus.yaml"), &targets).unwrap();
        dashboard::queries(
            &read("grafana/dashboards/referral-tracker.json"),
            &read("grafana/provisioning/datasources/prometheus.yaml"),
        )
        .unwrap();
        for outage in Outage::ALL {
            for expected in [outage.fires(), outage.may_fire()].concat() {
                let rule = format!("- alert: {}\n", expected.name);
                assert!(alerts.contains(&rule), "{outage:?}: no rule {}", expected.name);
            }
        }
    }
}
