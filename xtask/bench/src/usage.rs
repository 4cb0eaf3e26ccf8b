//! CPU time and memory of processes, from `/proc/<pid>/stat` and `/proc/<pid>/status`.

use std::fs;
use std::time::Duration;

use harness::pids::Recorded;
use harness::process::Running;

use super::outcome::float;

/// Everything but Postgres is one process.
const MEASURED: [&str; 9] = [
    "ingest",
    "webhook-consumer",
    "worker",
    "postgres",
    "nats",
    "redis",
    "constant",
    "baseline",
    "baseline-hot",
];
/// The kernel's unit of CPU time.
const TICK: Duration = Duration::from_millis(10);

/// CPU time of each process since it started.
#[derive(Debug, Clone, Default)]
pub(super) struct Usage(Vec<(String, Duration)>);

impl Usage {
    /// Of the processes named above.
    pub(super) fn now(running: &Running) -> Self {
        let named = MEASURED.iter().filter_map(|name| {
            let process = running.process(name)?;
            Some(((*name).to_owned(), cpu_with_children(process.pid)))
        });
        Self(named.collect())
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

/// Resident MiB of a process: now, and at most since it started.
pub(super) fn resident(process: &Recorded) -> (f64, f64) {
    let status = fs::read_to_string(format!("/proc/{}/status", process.pid)).unwrap_or_default();
    let mib = |name| float(memory(&status, name).unwrap_or_default()) / f64::from(1 << 20);
    (mib("VmRSS:"), mib("VmHWM:"))
}

fn memory(status: &str, name: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix(name))?;
    let kib: u64 = line.trim().strip_suffix(" kB")?.trim().parse().ok()?;
    Some(kib * 1024)
}

/// Of a process with its current and former children: Postgres has one for each connection.
fn cpu_with_children(pid: u32) -> Duration {
    let own = stat(pid).map_or(0, |stat| stat.own + stat.waited_for);
    let children = fs::read_dir("/proc").into_iter().flatten().filter_map(|entry| {
        let child = entry.ok()?.file_name().to_str()?.parse().ok()?;
        let stat = stat(child)?;
        (stat.parent == pid).then_some(stat.own)
    });
    TICK * u32::try_from(own + children.sum::<u64>()).unwrap_or(u32::MAX)
}

#[derive(Debug, PartialEq, Eq)]
struct Stat {
    parent: u32,
    /// Ticks, in user space and in the kernel.
    own: u64,
    /// Ticks of children that have ended.
    waited_for: u64,
}

fn stat(pid: u32) -> Option<Stat> {
    parse_stat(&fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
}

/// Fields are counted from the end of the program's name, which may contain spaces and parentheses.
fn parse_stat(text: &str) -> Option<Stat> {
    let (_, after_name) = text.rsplit_once(") ")?;
    let fields: Vec<&str> = after_name.split_ascii_whitespace().collect();
    let number = |index: usize| -> Option<u64> { fields.get(index)?.parse().ok() };
    Some(Stat {
        parent: u32::try_from(number(1)?).ok()?,
        own: number(11)? + number(12)?,
        waited_for: number(13)? + number(14)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_found_behind_odd_program_names() {
        let rest = "S 7 7 7 0 -1 4194304 100 0 0 0 11 22 3 4 20 0 1 0 8812345 1000 200";
        let expected = Some(Stat {
            parent: 7,
            own: 33,
            waited_for: 7,
        });
        assert_eq!(parse_stat(&format!("9 (a) R (b) {rest}")), expected);
        assert_eq!(parse_stat("9 (worker) S 1 2"), None);
    }

    #[test]
    fn memory_is_told_in_bytes() {
        assert_eq!(
            memory("VmHWM:\t   12 kB\nVmRSS:\t   2048 kB\n", "VmRSS:"),
            Some(2 << 20)
        );
        assert_eq!(memory("Name:\tkthreadd\n", "VmRSS:"), None);
    }

    #[test]
    fn a_request_costs_what_was_added() {
        let at = |ms| Usage(vec![("ingest".to_owned(), Duration::from_millis(ms))]);
        let costs = at(1200).per_request(&at(200), 1000, Duration::from_millis(5));
        assert_eq!(shown(&costs), "CPU µs a request: ingest 1000.0, driver 5.0");
    }
}
