//! Recorded processes, identified by pid and start time.
//!
//! A pid alone may be reused; with the start time from `/proc` it is unique.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::str::FromStr;

use anyhow::{Context, Error, Result, bail};
use procfs::process::{Process, Stat};

use crate::area::{Area, remove};

/// The signal for a graceful shutdown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StopSignal {
    Term,
    /// For PostgreSQL, which waits for its clients without limit after TERM.
    Int,
    Kill,
}

impl StopSignal {
    fn name(self) -> &'static str {
        match self {
            Self::Term => "TERM",
            Self::Int => "INT",
            Self::Kill => "KILL",
        }
    }
}

/// One line of the record: `name pid start-time signal`; the start time in clock ticks since boot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recorded {
    pub name: String,
    pub pid: u32,
    pub start_ticks: u64,
    pub signal: StopSignal,
}

impl Recorded {
    /// Fails when there is no such process.
    pub fn of(name: &str, pid: u32, signal: StopSignal) -> Result<Self> {
        let stat = stat(pid).with_context(|| format!("{name} (pid {pid}) is gone already"))?;
        Ok(Self {
            name: name.to_owned(),
            pid,
            start_ticks: stat.starttime,
            signal,
        })
    }

    /// A zombie counts as ended.
    pub fn is_alive(&self) -> bool {
        stat(self.pid)
            .is_some_and(|stat| stat.starttime == self.start_ticks && !matches!(stat.state, 'Z' | 'X'))
    }

    pub fn send(&self, signal: StopSignal) {
        self.send_named(signal.name());
    }

    /// Any signal, by its name without `SIG`.
    pub fn send_named(&self, signal: &str) {
        if self.is_alive() {
            // The shell's builtin: not every machine has the program. It fails if the process has just ended.
            let _ = Command::new("sh")
                .args(["-c", "kill -s \"$1\" \"$2\"", "sh", signal, &self.pid.to_string()])
                .stderr(Stdio::null())
                .status();
        }
    }

    fn line(&self) -> String {
        format!(
            "{} {} {} {}\n",
            self.name,
            self.pid,
            self.start_ticks,
            self.signal.name()
        )
    }
}

impl FromStr for Recorded {
    type Err = Error;

    fn from_str(line: &str) -> Result<Self> {
        let fields: Vec<&str> = line.split(' ').collect();
        let [name, pid, start_ticks, signal] = fields.as_slice() else {
            bail!("not a process record: {line:?}");
        };
        let signal = match *signal {
            "TERM" => StopSignal::Term,
            "INT" => StopSignal::Int,
            other => bail!("{name} has no stop signal {other:?}"),
        };
        Ok(Self {
            name: (*name).to_owned(),
            pid: pid.parse()?,
            start_ticks: start_ticks.parse()?,
            signal,
        })
    }
}

/// The record of one area, in the order the processes were started.
#[derive(Debug)]
pub struct Pids {
    path: PathBuf,
    pub entries: Vec<Recorded>,
}

impl Pids {
    /// Ignores invalid lines: a truncated record must not block the next start.
    pub fn read(area: &Area) -> Self {
        let path = area.pids();
        let text = fs::read_to_string(&path).unwrap_or_default();
        let entries = text.lines().filter_map(|line| line.parse().ok()).collect();
        Self { path, entries }
    }

    pub fn empty(area: &Area) -> Self {
        Self {
            path: area.pids(),
            entries: Vec::new(),
        }
    }

    pub fn push(&mut self, process: Recorded) -> Result<()> {
        self.entries.push(process);
        self.save()
    }

    pub fn retain(&mut self, keep: impl Fn(&Recorded) -> bool) -> Result<()> {
        self.entries.retain(keep);
        self.save()
    }

    pub fn is_alive(&self, name: &str) -> bool {
        self.entries
            .iter()
            .any(|process| process.name == name && process.is_alive())
    }

    /// An empty record is no file.
    fn save(&self) -> Result<()> {
        if self.entries.is_empty() {
            return remove(&self.path);
        }
        let text: String = self.entries.iter().map(Recorded::line).collect();
        let fresh = self.path.with_extension("new");
        fs::write(&fresh, text)
            .and_then(|()| fs::rename(&fresh, &self.path))
            .with_context(|| format!("cannot write {}", self.path.display()))
    }
}

fn stat(pid: u32) -> Option<Stat> {
    Process::new(i32::try_from(pid).ok()?).ok()?.stat().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_reads_back() {
        let process = Recorded {
            name: "postgres".into(),
            pid: 42,
            start_ticks: 123_456,
            signal: StopSignal::Int,
        };
        let line = process.line();
        assert_eq!(line.trim_end().parse::<Recorded>().unwrap(), process);
    }

    #[test]
    fn a_broken_record_is_refused() {
        for line in [
            "",
            "worker",
            "worker 1 2",
            "worker x 2 TERM",
            "worker 1 2 KILL",
            "worker 1 2 TERM 3",
        ] {
            assert!(line.parse::<Recorded>().is_err(), "{line:?}");
        }
    }

    #[test]
    fn a_recycled_pid_is_not_ours() {
        let me = Recorded::of("xtask", std::process::id(), StopSignal::Term).unwrap();
        assert!(me.is_alive());
        let earlier = Recorded {
            start_ticks: me.start_ticks - 1,
            ..me
        };
        assert!(!earlier.is_alive());
    }
}
