//! Facts about a measurement: date, machine, versions.

use std::num::NonZero;
use std::process::Command;

use anyhow::Result;
use harness::process;
use procfs::{CpuInfo, Current, Meminfo};

use super::environment::BenchEnvironment;

/// Names and values.
pub(super) type Facts = Vec<(&'static str, String)>;

pub(super) fn of(bench: &BenchEnvironment<'_>) -> Result<Facts> {
    let cpus = std::thread::available_parallelism().map_or(1, NonZero::get);
    let processor = CpuInfo::current()?.model_name(0).unwrap_or_default().to_owned();
    let (date, postgres): (String, String) = bench.runtime.block_on(
        sqlx::query_as("SELECT to_char(now() AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI UTC'), current_setting('server_version')")
            .fetch_one(&bench.pool),
    )?;
    let nats = bench
        .runtime
        .block_on(async_nats::connect(&bench.servers.nats_url))?
        .server_info()
        .version;
    let redis = bench.servers.redis.as_ref().map_or_else(String::new, |redis| {
        first_line(bench, &redis.to_string_lossy(), &["--version"])
            .split_whitespace()
            .find_map(|word| word.strip_prefix("v=").map(str::to_owned))
            .unwrap_or_default()
    });
    Ok(vec![
        ("date", date),
        (
            "commit",
            first_line(bench, "git", &["describe", "--always", "--dirty", "--abbrev=10"]),
        ),
        ("processors", format!("{cpus} × {processor}")),
        ("memory", format!("{} kB", Meminfo::current()?.mem_total / 1024)),
        ("kernel", first_line(bench, "uname", &["-r"])),
        (
            "servers",
            format!("PostgreSQL {postgres}, NATS {nats}, Redis {redis}"),
        ),
        ("compiler", first_line(bench, "rustc", &["--version"])),
    ])
}

/// The first line that a program prints; empty if it cannot be run.
fn first_line(bench: &BenchEnvironment<'_>, program: &str, args: &[&str]) -> String {
    let said = process::output(Command::new(program).current_dir(&bench.checkout.root).args(args));
    said.ok()
        .and_then(|said| said.lines().next().map(str::to_owned))
        .unwrap_or_default()
}
