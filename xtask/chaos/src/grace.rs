//! Rounds without faults: services are shut down, as at every deployment.

use std::time::{Duration, Instant};

use anyhow::{Context, Result};

use super::journal::Answer;
use super::round::{RunningRound, visible_failures};
use super::schedule::Service;

/// Load before the first shutdown, and between two replacements.
const BEFORE: Duration = Duration::from_millis(1_500);
const BETWEEN: Duration = Duration::from_millis(300);
/// The limit of a shutdown: the service's own deadline and some margin.
const LEAVING: Duration = Duration::from_secs(28);

impl RunningRound<'_, '_> {
    /// Shuts every service down under load, and starts them again.
    pub(super) fn grace(&mut self, at_once: bool) -> Result<()> {
        self.watch_for(BEFORE)?;
        let [one, other] = Service::INGESTS;
        let edges = [one, other, Service::WEBHOOK_CONSUMER];
        if at_once {
            self.shut_down_and_wait(&Service::ALL)?;
        } else {
            self.shut_down_and_wait(&edges)?;
            // While workers run, every accepted request is answered.
            let calls = self.simulation.journal.calls();
            self.violations
                .extend(visible_failures(&calls, Answer::is_unknown));
            self.shut_down_and_wait(&Service::WORKERS)?;
            self.shut_down_and_wait(&Service::DELIVERIES)?;
        }
        self.stack.start_services()
    }

    /// Replaces one service after the other; one retry must succeed.
    pub(super) fn rolling(&mut self) -> Result<()> {
        self.watch_for(BEFORE)?;
        for service in Service::ALL {
            self.shut_down_and_wait(&[service])?;
            self.stack.start_service(service, &[])?;
            self.stack.wait_until_ready()?;
            self.watch_for(BETWEEN)?;
        }
        Ok(())
    }

    pub(super) fn shut_down_and_wait(&mut self, services: &[Service]) -> Result<()> {
        let asked = Instant::now();
        for service in services {
            self.stack.shut_down(*service);
        }
        for service in services {
            let name = service.name();
            let mut status = None;
            while status.is_none() && asked.elapsed() < LEAVING {
                self.watch_for(Duration::from_millis(10))?;
                status = self.stack.ended(*service)?;
            }
            match status {
                Some(status) if status.success() => {}
                Some(status) => {
                    let tail = self.stack.tail(*service);
                    self.violations
                        .push(format!("{name} exited with {status}\n{tail}"));
                }
                None => {
                    let seconds = LEAVING.as_secs();
                    self.violations
                        .push(format!("{name} did not exit within {seconds} s"));
                    self.stack.kill_service(*service).context("cannot kill it")?;
                }
            }
        }
        let seconds = asked.elapsed().as_secs_f32();
        self.notes
            .push(format!("{} exited in {seconds:.1} s", services.len()));
        Ok(())
    }
}
