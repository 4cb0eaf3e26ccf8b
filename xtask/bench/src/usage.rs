//! CPU time and memory of processes.

use std::time::Duration;

use harness::pids::Recorded;
use harness::process::Running;
use procfs::process::{Process, all_processes};

use super::outcome::float;

/// The kernel's unit of CPU time.
const TICK: Duration = Duration::from_millis(10);

/// CPU time of each process since it started.
#[derive(Debug, Clone, Default)]
pub(super) struct Usage(Vec<(String, Duration)>);

impl Usage {
    /// Of servers and services.
    pub(super) fn now(running: &Running) -> Self {
        let started = running.started();
        let used = started.map(|process| (process.name.clone(), cpu_with_children(process.pid)));
        Self(used.collect())
    }

    /// `ingest 21.3 µs, worker 4.0 µs, …` a request, since an earlier moment.
    pub(super) fn per_request(&self, before: &Self, requests: u64, driver: Duration) -> Vec<(String, f64)> {
        let micros = |time: Duration| time.as_secs_f64() * 1e6 / float(requests.max(1));
        self.0
            .iter()
            .filter_map(|(name, now)| {
                let (_, then) = before.0.iter().find(|(known, _)| known == name)?;
                let used = now.saturating_sub(*then);
                // Processes without CPU time are omitted.
                (used > TICK).then(|| (name.clone(), micros(used)))
            })
            .chain([("driver".to_owned(), micros(driver))])
            .collect()
    }
}

pub(super) fn shown(per_request: &[(String, f64)]) -> String {
    let parts: Vec<String> = per_request
        .iter()
        .map(|(name, micros)| format!("{name} {micros:.1}"))
        .collect();
    format!("CPU µs a request: {}", parts.join(", "))
}

/// Resident MiB.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Memory {
    pub(super) now: f64,
    /// The most since the process started.
    pub(super) peak: f64,
}

impl Memory {
    pub(super) fn of(process: &Recorded) -> Self {
        let status = i32::try_from(process.pid)
            .ok()
            .and_then(|pid| Process::new(pid).ok()?.status().ok());
        let mib = |kib: Option<u64>| float(kib.unwrap_or_default()) / 1024.0;
        status.map_or_else(Self::default, |status| Self {
            now: mib(status.vmrss),
            peak: mib(status.vmhwm),
        })
    }
}

/// Of a process with its current and former children: Postgres has one for each connection.
fn cpu_with_children(pid: u32) -> Duration {
    let stats = all_processes()
        .into_iter()
        .flatten()
        .filter_map(|process| process.ok()?.stat().ok());
    let ticks = stats.map(|stat| {
        let own = stat.utime + stat.stime;
        if u32::try_from(stat.pid) == Ok(pid) {
            own + stat.cutime.unsigned_abs() + stat.cstime.unsigned_abs()
        } else if u32::try_from(stat.ppid) == Ok(pid) {
            own
        } else {
            0
        }
    });
    TICK * u32::try_from(ticks.sum::<u64>()).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_costs_what_was_added() {
        let at = |ms| Usage(vec![("ingest".to_owned(), Duration::from_millis(ms))]);
        let costs = at(1200).per_request(&at(200), 1000, Duration::from_millis(5));
        assert_eq!(shown(&costs), "CPU µs a request: ingest 1000.0, driver 5.0");
    }
}
