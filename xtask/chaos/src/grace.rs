//! Rounds in which nothing breaks: services are asked to leave, as at every deployment.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

use super::journal::Answer;
use super::round::{Course, felt};
use super::schedule::Service;

/// Load before the first is asked to leave, and between two that are replaced.
const BEFORE: Duration = Duration::from_millis(1_500);
const BETWEEN: Duration = Duration::from_millis(300);
/// Within this a service that was asked to leave has left: its own deadline, and a little time to notice.
const LEAVING: Duration = Duration::from_secs(28);

impl Course<'_, '_> {
    /// Every service leaves under load, and everything is started again.
    pub(super) fn grace(&mut self, at_once: bool) -> Result<()> {
        self.watch_for(BEFORE)?;
        let edges = [Service::Ingest1, Service::Ingest2, Service::WebhookConsumer];
        if at_once {
            self.leave(&Service::ALL)?;
        } else {
            self.leave(&edges)?;
            // With the workers still there, whoever was taken in was answered.
            let calls = self.simulation.journal.calls()?;
            self.violations.extend(felt(&calls, Answer::is_unknown));
            self.leave(&Service::WORKERS)?;
        }
        for service in Service::ALL {
            self.stack.start_service(service, &[])?;
        }
        self.stack.wait_until_ready()
    }

    /// One after the other is replaced; whoever asks once more notices nothing. Where an earlier release is given, by that one's
    /// first, so that both work side by side in either direction.
    pub(super) fn rolling(&mut self) -> Result<()> {
        self.watch_for(BEFORE)?;
        if let Some(before) = self.stack.before.clone() {
            let back = Service::ALL.into_iter().rev();
            self.replace(before, back)?;
        }
        self.replace(self.stack.checkout.bin_dir.clone(), Service::ALL)
    }

    fn replace(&mut self, by: PathBuf, services: impl IntoIterator<Item = Service>) -> Result<()> {
        self.stack.programs = by;
        for service in services {
            self.leave(&[service])?;
            self.stack.start_service(service, &[])?;
            self.stack.wait_until_ready()?;
            self.watch_for(BETWEEN)?;
        }
        Ok(())
    }

    fn leave(&mut self, services: &[Service]) -> Result<()> {
        let asked = Instant::now();
        for service in services {
            self.stack.ask_to_leave(*service);
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
                    self.violations.push(format!("{name} left with {status}\n{tail}"));
                }
                None => {
                    let seconds = LEAVING.as_secs();
                    self.violations
                        .push(format!("{name} has not left within {seconds} s"));
                    self.stack.kill_service(*service).context("cannot kill it")?;
                }
            }
        }
        let seconds = asked.elapsed().as_secs_f32();
        self.notes
            .push(format!("{} left in {seconds:.1} s", services.len()));
        Ok(())
    }
}
