//! Recorded processes, identified by pid and start time.
//!
//! A pid alone may be reused; with the start time from `/proc` it is unique.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::{Context, Result};
use procfs::process::{Process, Stat};
use serde::{Deserialize, Serialize};

use crate::area::{Area, remove};
use crate::servers::postgres;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Recorded {
    pub name: String,
    pub pid: u32,
    /// Since boot.
    pub start_ticks: u64,
}

impl Recorded {
    /// Fails when there is no such process.
    pub fn of(name: &str, pid: u32) -> Result<Self> {
        let stat = stat(pid).with_context(|| format!("{name} (pid {pid}) is gone already"))?;
        Ok(Self {
            name: name.to_owned(),
            pid,
            start_ticks: stat.starttime,
        })
    }

    /// A zombie counts as ended.
    pub fn is_alive(&self) -> bool {
        stat(self.pid)
            .is_some_and(|stat| stat.starttime == self.start_ticks && !matches!(stat.state, 'Z' | 'X'))
    }

    /// Asks for a graceful shutdown. PostgreSQL waits for its clients without limit after TERM.
    pub fn shut_down(&self) {
        self.send(if self.name == postgres::NAME {
            "INT"
        } else {
            "TERM"
        });
    }

    /// By its name without `SIG`.
    pub fn send(&self, signal: &str) {
        if self.is_alive() {
            // The shell's builtin: not every machine has the program. It fails if the process has just ended.
            let _ = Command::new("sh")
                .args(["-c", "kill -s \"$1\" \"$2\"", "sh", signal, &self.pid.to_string()])
                .stderr(Stdio::null())
                .status();
        }
    }
}

/// The record of one area, in the order the processes were started.
#[derive(Debug)]
pub struct Pids {
    path: PathBuf,
    pub entries: Vec<Recorded>,
}

impl Pids {
    /// A damaged record reads as empty: it must not block the next start.
    pub fn read(area: &Area) -> Self {
        let path = area.pids();
        let text = fs::read(&path).unwrap_or_default();
        let entries = serde_json::from_slice(&text).unwrap_or_default();
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
        let text = serde_json::to_vec_pretty(&self.entries)?;
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
    fn a_record_reads_back_and_a_damaged_one_is_empty() {
        let dir = std::env::temp_dir().join(format!("pids-{}", std::process::id()));
        fs::create_dir_all(&dir).unwrap();
        let area = Area::at(dir.clone());
        let process = Recorded {
            name: "postgres".into(),
            pid: 42,
            start_ticks: 123_456,
        };
        Pids::empty(&area).push(process.clone()).unwrap();
        assert_eq!(Pids::read(&area).entries, [process]);
        fs::write(area.pids(), "[{\"name\": \"post").unwrap();
        assert_eq!(Pids::read(&area).entries, []);
        remove(&dir).unwrap();
    }

    #[test]
    fn a_recycled_pid_is_not_ours() {
        let me = Recorded::of("xtask", std::process::id()).unwrap();
        assert!(me.is_alive());
        let earlier = Recorded {
            start_ticks: me.start_ticks - 1,
            ..me
        };
        assert!(!earlier.is_alive());
    }
}
