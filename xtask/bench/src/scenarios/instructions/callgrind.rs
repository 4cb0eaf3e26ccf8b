//! A service under callgrind.

use std::fs;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use harness::process::{self, in_own_session};

use crate::environment::BenchEnvironment;

const VALGRIND: &str = "valgrind";

/// Fails without valgrind on this machine.
pub(super) fn check() -> Result<()> {
    ensure!(
        process::find_all(VALGRIND).next().is_some(),
        "{VALGRIND} is not on this machine: install the package {VALGRIND}"
    );
    Ok(())
}

pub(super) struct Callgrind {
    pub(super) address: SocketAddr,
    pid: u32,
    /// Each dump is this path with a number.
    out: PathBuf,
    dumps: u32,
}

impl Callgrind {
    /// Starts a service, and counts from then on.
    pub(super) fn start(bench: &mut BenchEnvironment<'_>, service: &'static str) -> Result<Self> {
        let out = bench.area.dir.join(format!("{service}.callgrind"));
        let mut command = in_own_session(VALGRIND);
        command
            // The start is not counted, and several times as fast.
            .args(["--tool=callgrind", "--instr-atstart=no"])
            .arg(format!("--callgrind-out-file={}", out.display()))
            .arg(bench.checkout.bin_dir.join(service))
            // With more threads the counts vary, and depend on the number of processors.
            .env("TOKIO_WORKER_THREADS", "1")
            // All connections are opened before the first request: one costs as much as a hundred of them.
            .env("DATABASE_POOL_SIZE", "2")
            // With its default each lead is shared through Redis, together with all others of 20 ms: slow
            // machines share them singly.
            .env("LEAD_LIMIT", "4096");
        let address = bench.start_by(service, command)?;
        let pid = bench
            .running
            .process(service)
            .with_context(|| format!("{service} has ended"))?
            .pid;
        let started = Self {
            address,
            pid,
            out,
            dumps: 0,
        };
        started.tell(&["instrumentation", "on"])?;
        Ok(started)
    }

    /// Instructions since the call before.
    pub(super) fn taken(&mut self) -> Result<u64> {
        self.tell(&["dump"])?;
        self.dumps += 1;
        let path = format!("{}.{}", self.out.display(), self.dumps);
        let dump = fs::read_to_string(&path).with_context(|| format!("cannot read {path}"))?;
        total(&dump).with_context(|| format!("no total in {path}"))
    }

    fn tell(&self, words: &[&str]) -> Result<()> {
        let mut command = Command::new("vgdb");
        process::output(command.arg(format!("--pid={}", self.pid)).args(words))?;
        Ok(())
    }
}

/// The sum of all events of a dump.
fn total(dump: &str) -> Option<u64> {
    let line = dump.lines().find_map(|line| line.strip_prefix("summary: "))?;
    line.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dump_has_one_total() {
        let dump =
            "version: 1\nevents: Ir\nsummary: 1234567\n\n\nob=(1) /lib/ld.so\n16 5\n\ntotals: 1234567\n";
        assert_eq!(total(dump), Some(1_234_567));
        assert_eq!(total("version: 1\nevents: Ir\n"), None);
    }
}
