//! `cargo xtask bench`: a release build under load, on servers of its own that start empty.
//!
//! Parts: the load ([`load`], over [`connection`]), what it measured ([`latency`]), and one module a scenario. Load and
//! service share this machine, so figures compare with each other, not with those of another machine.

mod connection;
mod latency;
mod limiter;
mod load;

use std::process::Command;

use anyhow::{Context, Result};
use tokio::runtime::Runtime;

use crate::area::{Area, Checkout};
use crate::cargo::cargo;
use crate::env_file::EnvFile;
use crate::interrupt::Interrupt;
use crate::keys;
use crate::process::{self, Running};
use crate::progress::Step;
use crate::servers::{Servers, provide};
use crate::test::start_empty;

#[derive(clap::Subcommand)]
pub(crate) enum Scenario {
    /// What the rate limiter adds to a click, and how soon it goes on without Redis.
    Limiter(limiter::Options),
}

/// A place to measure: servers that answer, a migrated database with the demo program, nothing of ours started yet.
struct Bench<'a> {
    /// Its binaries are the release's.
    checkout: Checkout,
    area: Area,
    running: Running,
    env: EnvFile,
    /// The demo program's variables.
    demo: EnvFile,
    runtime: Runtime,
    interrupt: &'a Interrupt,
}

pub(crate) fn bench(checkout: &Checkout, scenario: &Scenario, interrupt: &Interrupt) -> Result<()> {
    let area = checkout.bench_area();
    let _lock = area
        .try_lock()?
        .context("another `cargo xtask bench` is at work in this checkout")?;
    start_empty(&area)?;
    let step = Step::start("Building the release");
    process::run(
        cargo(checkout).args([
            "build",
            "--release",
            "--package=ingest",
            "--package=worker",
            "--package=ctl",
        ]),
        interrupt,
    )?;
    step.done("built");
    let mut running = Running::none(&area)?;
    let servers = provide(checkout, &area, &mut running, interrupt)?;
    let checkout = checkout.released();
    let env = service_env(&area, &servers)?;
    let demo = prepare_database(&checkout, &env)?;
    let mut bench = Bench {
        checkout,
        area,
        running,
        env,
        demo,
        runtime: Runtime::new()?,
        interrupt,
    };
    match scenario {
        Scenario::Limiter(options) => limiter::measure(&mut bench, options),
    }
}

fn service_env(area: &Area, servers: &Servers) -> Result<EnvFile> {
    let mut env = keys::read_or_create(area)?;
    env.set("DATABASE_URL", &servers.database_url);
    env.set("NATS_URL", &servers.nats_url);
    env.set("REDIS_URL", &servers.redis_url);
    Ok(env)
}

fn prepare_database(checkout: &Checkout, env: &EnvFile) -> Result<EnvFile> {
    let ctl = |command: &str| {
        let mut ctl = Command::new(checkout.bin_dir.join("ctl"));
        ctl.env_remove("DEMO_API_KEY").envs(env.iter()).arg(command);
        process::output(&mut ctl)
    };
    ctl("migrate")?;
    Ok(EnvFile::parse(&ctl("seed-demo")?))
}
