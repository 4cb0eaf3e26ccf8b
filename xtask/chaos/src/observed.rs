//! Rounds that Prometheus watches, with the rules of `deploy/prometheus` and the queries of `deploy/grafana`.
//!
//! In ordinary traffic no alert fires, and every panel has data. An outage lasts until the alerts that it explains fire; no other may.
//! Afterwards all of them resolve.

mod dashboard;
mod faster;
mod observer;
mod outage;

use std::collections::BTreeMap;
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

/// When each alert was first seen firing.
type Fired = BTreeMap<Alert, Duration>;

impl RunningRound<'_, '_> {
    pub(super) fn observed(&mut self, outage: Outage) -> Result<()> {
        self.look_at_ordinary_traffic()?;
        let began = Instant::now();
        self.begin_outage(outage)?;
        let fired = self.wait_for_alerts(outage, began)?;
        for expected in outage.fires() {
            if !fired.keys().any(|alert| alert.is(&expected)) {
                self.violations.push(format!("{expected:?} does not fire"));
            }
        }
        self.end_outage(outage)?;
        self.stack.wait_until_ready()?;
        let late = self.wait_until_resolved(began)?;
        let due = self.subscriber.make_retries_due(&self.stack.pool);
        self.stack.runtime.block_on(due)?;
        self.judge_fired(outage, late.into_iter().chain(fired).collect());
        let broken = self.observer()?.broken_rules()?;
        self.violations.extend(broken);
        Ok(())
    }

    fn observer(&self) -> Result<&Observer> {
        self.stack.observer.as_ref().context("Prometheus does not run")
    }

    fn look_at_ordinary_traffic(&mut self) -> Result<()> {
        let started = Instant::now();
        let mut empty = Vec::new();
        let mut has_data = false;
        while !has_data && started.elapsed() < DATA_LIMIT {
            self.watch_for(LOOK_EVERY)?;
            let observer = self.observer()?;
            empty = observer.empty_panels(None)?;
            has_data = empty.is_empty() && observer.unscraped()? == 0;
        }
        let empty = empty
            .into_iter()
            .map(|panel| format!("no data in ordinary traffic: {panel}"));
        self.violations.extend(empty);
        let mut fired = Fired::new();
        let ordinary = Instant::now();
        while ordinary.elapsed() < ORDINARY {
            self.watch_for(LOOK_EVERY)?;
            self.note_firing(&mut fired, ordinary)?;
        }
        let fired = fired
            .keys()
            .map(|alert| format!("fires in ordinary traffic: {alert}"));
        self.violations.extend(fired);
        let unexpected = self.observer()?.unexpected_panels()?;
        let unexpected = unexpected
            .into_iter()
            .map(|panel| format!("is listed as without data, and has some: {panel}"));
        self.violations.extend(unexpected);
        Ok(())
    }

    /// Returns what fires now.
    fn note_firing(&self, fired: &mut Fired, since: Instant) -> Result<Vec<Alert>> {
        let firing = self.observer()?.firing()?;
        for alert in &firing {
            fired.entry(alert.clone()).or_insert_with(|| since.elapsed());
        }
        Ok(firing)
    }

    fn begin_outage(&mut self, outage: Outage) -> Result<()> {
        if let Some(observer) = &mut self.stack.observer {
            observer.is_fresh = false;
        }
        if outage == Outage::ReceiverDead {
            self.subscriber.die();
        }
        outage
            .faults()
            .iter()
            .try_for_each(|fault| self.stack.begin(*fault))
    }

    fn end_outage(&mut self, outage: Outage) -> Result<()> {
        if outage == Outage::ReceiverDead {
            self.subscriber.revive();
        }
        outage
            .faults()
            .iter()
            .try_for_each(|fault| self.stack.end(*fault))
    }

    /// Until each alert of the outage has fired, and each panel of it has data.
    fn wait_for_alerts(&mut self, outage: Outage, began: Instant) -> Result<Fired> {
        let mut fired = Fired::new();
        let has_fired = |fired: &Fired, expected: &Expected| fired.keys().any(|alert| alert.is(expected));
        let mut empty = Vec::new();
        while began.elapsed() < FIRE_LIMIT {
            self.watch_for(LOOK_EVERY)?;
            self.note_firing(&mut fired, began)?;
            empty = self.observer()?.empty_panels(Some(outage))?;
            if empty.is_empty() && outage.fires().iter().all(|expected| has_fired(&fired, expected)) {
                break;
            }
        }
        let empty = empty
            .into_iter()
            .map(|panel| format!("no data in the outage: {panel}"));
        self.violations.extend(empty);
        Ok(fired)
    }

    /// Returns what fired meanwhile.
    fn wait_until_resolved(&mut self, began: Instant) -> Result<Fired> {
        let mut fired = Fired::new();
        let ended = Instant::now();
        loop {
            self.watch_for(LOOK_EVERY)?;
            let firing = self.note_firing(&mut fired, began)?;
            if firing.is_empty() {
                let seconds = ended.elapsed().as_secs();
                self.notes.push(format!("resolved {seconds} s after the end"));
                return Ok(fired);
            }
            if ended.elapsed() > RESOLVE_LIMIT {
                let stuck = firing.iter().map(|alert| format!("does not resolve: {alert}"));
                self.violations.extend(stuck);
                return Ok(fired);
            }
        }
    }

    fn judge_fired(&mut self, outage: Outage, fired: Fired) {
        for (alert, after) in fired {
            self.notes.push(format!("{alert} after {} s", after.as_secs()));
            let explained = [outage.fires(), outage.may_fire()].concat();
            if !explained.iter().any(|expected| alert.is(expected)) {
                self.violations
                    .push(format!("the outage does not explain {alert}"));
            }
        }
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
        let dashboard = read("grafana/dashboards/referral-tracker.json");
        dashboard::queries(
            &dashboard,
            &read("grafana/provisioning/datasources/prometheus.yaml"),
        )
        .unwrap();
        for outage in Outage::ALL {
            for expected in [outage.fires(), outage.may_fire()].concat() {
                let rule = format!("- alert: {}\n", expected.name);
                assert!(alerts.contains(&rule), "{outage}: no rule {}", expected.name);
            }
        }
    }
}
