//! `cargo xtask dev`: the whole service on this machine, in phases.
//!
//! Lock the area; stop what an earlier command left; start servers; build; migrate; seed; start the services; wait until they are
//! ready; write `.dev/env`. Then watch until Ctrl-C, or leave everything running (`--detach`). After a failure, everything that was
//! started is stopped.

use std::env;
use std::fmt::Display;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;

use anyhow::{Context, Result, bail};
use harness::area::{Area, Checkout, remove};
use harness::cargo::cargo;
use harness::env_file::EnvFile;
use harness::interrupt::{Interrupt, PAUSE};
use harness::keys;
use harness::pids::Pids;
use harness::process::{self, Running};
use harness::progress::{Step, note};
use harness::servers::{External, Servers, postgres, provide};
use harness::services::{self, DEMO_PREFIX, INGEST, PROGRAMS, SERVICES, ctl};
use harness::stop::stop_area;

use crate::dev_servers::{self, DevServers, secrets_file};
use crate::{demo, walk};

/// Bytes a stream, unless set in the environment. NATS reserves them on the disk: eight times the services' default may be more
/// than a laptop has free.
const STREAM_MAX_BYTES: u64 = 256 << 20;

const TRY: &str = "
To try:
- E-mails: every one ends on that page, until the next start. The demo's first start invites a colleague; the sign-in page sends you a link
  for a new password.
- Webhooks: that page shows what the demo's endpoint is sent, with its signature. Tell it to answer 500 or nothing, and see attempts, retries
  and replays in the dashboard, under Webhooks.
";

#[derive(clap::Args)]
pub(crate) struct Options {
    /// Delete the data of earlier starts first.
    #[arg(long)]
    reset: bool,
    /// Leave everything running and return; `cargo xtask stop` ends it.
    #[arg(long)]
    detach: bool,
    /// Give the demo program a history of 90 days, so that every page of the dashboard has data.
    #[arg(long)]
    demo: bool,
}

pub(crate) fn dev(checkout: &Checkout, options: &Options, interrupt: &Interrupt) -> Result<()> {
    let area = checkout.dev_area();
    if options.reset {
        stop_area(&area)?;
    }
    let Some(_lock) = take(&area)? else {
        return Ok(());
    };
    stop_area(&area)?;
    if options.reset {
        delete_data(checkout, &area)?;
    }

    let mut running = Running::none(&area)?;
    let servers = provide(checkout, &area, &mut running, interrupt)?;
    build(checkout, interrupt)?;
    let before = EnvFile::read(&area.env())?;
    let beside = DevServers::start_with_front(checkout, &area, &mut running)?;
    let mut env = service_env(&area, &servers, &beside)?;
    let demo = prepare_database(checkout, &env, &before, options.demo, interrupt)?;
    let services = services::start(checkout, &area, &env, &mut running)?;
    services::wait_until_ready(&services, &area, &mut running, interrupt)?;

    let ingest = services
        .iter()
        .find(|service| service.name == INGEST)
        .context("the ingest is missing")?;
    demo::connect(ingest, &demo, &beside)?;
    if options.demo {
        demo::create_history(&mut ctl_with(checkout, &env, &demo), ingest, &demo)?;
    }
    env = shell_env(&beside, &servers, &demo);
    env.write(&area.env())?;
    print_where(&area, &env);
    print_walk(&area, &servers);
    if options.detach {
        running.leave()?;
        println!("\nRunning in the background; `cargo xtask stop` ends it.");
        return Ok(());
    }
    println!("\nRunning; Ctrl-C stops it.");
    while !interrupt.came() {
        running.check()?;
        thread::sleep(PAUSE);
    }
    Ok(())
}

/// Ends what `--detach`, or a test run that was killed, left running.
pub(crate) fn stop(checkout: &Checkout) -> Result<()> {
    let stopped = stop_area(&checkout.dev_area())?;
    // A test run that is still running holds the lock.
    let test = checkout.test_area();
    let lock = test.dir.is_dir().then(|| test.try_lock()).transpose()?.flatten();
    let left_by_test = lock.is_some() && stop_area(&test)?;
    if !stopped && !left_by_test {
        note("nothing of this checkout is running");
    }
    Ok(())
}

/// Locks the area; `None`, with a message, if the service runs already.
fn take(area: &Area) -> Result<Option<File>> {
    let lock = area.try_lock()?;
    let pids = Pids::read(area);
    let all_run = SERVICES.iter().all(|service| pids.is_alive(service));
    match (lock, all_run) {
        (_, true) => {
            println!("Already running; `cargo xtask stop` ends it.");
            print_where(area, &EnvFile::read(&area.env())?);
            Ok(None)
        }
        (None, false) => bail!("`cargo xtask dev` is starting or stopping in another terminal"),
        (lock @ Some(_), false) => Ok(lock),
    }
}

/// Keeps fetched executables and port numbers, and the keys of an external database.
fn delete_data(checkout: &Checkout, area: &Area) -> Result<()> {
    let step = Step::start(format_args!("Deleting the data in {}", area.dir.display()));
    postgres::delete(area)?;
    ["nats", "redis", "env"]
        .iter()
        .try_for_each(|name| remove(&area.dir.join(name)))?;
    if External::from_env(checkout)?.database.is_some() {
        note("the database is external: its data and keys are kept");
    } else {
        remove(&area.keys())?;
        remove(&secrets_file(area))?;
    }
    step.done("deleted");
    Ok(())
}

fn build(checkout: &Checkout, interrupt: &Interrupt) -> Result<()> {
    let step = Step::start("Building (the first time takes some minutes)");
    let mut command = cargo(checkout);
    command.args(["build", "--package", "ctl", "--package", dev_servers::NAME]);
    for program in PROGRAMS {
        command.args(["--package", program]);
    }
    process::run(&mut command, interrupt)?;
    step.done("built");
    Ok(())
}

/// The environment of all services.
fn service_env(area: &Area, servers: &Servers, beside: &DevServers) -> Result<EnvFile> {
    let mut env = keys::read_or_create(area)?;
    beside.configure(&mut env);
    env.set_all(servers.urls());
    if env::var_os("STREAM_MAX_BYTES").is_none() {
        env.set("STREAM_MAX_BYTES", STREAM_MAX_BYTES.to_string());
    }
    Ok(env)
}

/// Migrates and seeds. Returns the demo program's variables: new ones, and old ones that were not printed again, because a key is
/// shown only when it is created.
fn prepare_database(
    checkout: &Checkout,
    env: &EnvFile,
    before: &EnvFile,
    with_history: bool,
    interrupt: &Interrupt,
) -> Result<EnvFile> {
    let step = Step::start("Migrating the database");
    process::run(ctl_with(checkout, env, before).arg("migrate"), interrupt)?;
    step.done("migrated");

    let step = Step::start("Seeding the demo program");
    let mut seed = ctl_with(checkout, env, before);
    if with_history {
        seed.args(demo::SEED_WITH_HISTORY);
    } else {
        seed.arg("seed-demo");
    }
    let printed = EnvFile::parse(&process::output(&mut seed)?);
    let mut demo = EnvFile::default();
    let known = before.iter().chain(printed.iter());
    demo.set_all(known.filter(|(name, _)| name.starts_with(DEMO_PREFIX)));
    if demo.get("DEMO_API_KEY").is_none() {
        note("the demo program's key is not known here; `cargo xtask dev --reset` makes a new one");
    }
    step.done("seeded");
    Ok(demo)
}

fn ctl_with(checkout: &Checkout, env: &EnvFile, before: &EnvFile) -> Command {
    let mut command = ctl(checkout, env);
    command.envs(before.iter().filter(|(name, _)| name.starts_with(DEMO_PREFIX)));
    command
}

/// The content of `.dev/env`, for shells and tools.
fn shell_env(beside: &DevServers, servers: &Servers, demo: &EnvFile) -> EnvFile {
    let mut env = EnvFile::default();
    beside.describe(&mut env);
    env.set_all(servers.urls());
    env.set_all(demo.iter());
    env
}

fn print_where(area: &Area, env: &EnvFile) {
    let print = |name: &str, what: &dyn Display| println!("{name:<13} {what}");
    let value = |name| env.get(name).unwrap_or_default();
    println!();
    for name in ["BASE_URL", "DATABASE_URL", "NATS_URL", "REDIS_URL"] {
        print(name, &value(name));
    }
    print("variables", &area.env().display());
    print("logs", &area.logs().display());
    println!();
    // Browsers offer passkeys for host names only.
    let base = value("BASE_URL").replace("127.0.0.1", "localhost");
    let (email, password) = (value("DEMO_EMAIL"), value("DEMO_PASSWORD"));
    print("dashboard", &format_args!("{base}/app  ({email}, {password})"));
    print("e-mails", &value("MAIL_URL"));
    print("webhooks", &value("WEBHOOK_RECEIVER_URL"));
    print!("{TRY}");
}

fn print_walk(area: &Area, servers: &Servers) {
    let psql = servers
        .postgres
        .as_ref()
        .map_or_else(|| PathBuf::from("psql"), |postgres| postgres.bin_dir.join("psql"));
    println!(
        "\nClick, lead, sale, refund, and what they left in the tables; the webhooks of all but the click arrive on their page:"
    );
    print!("{}", walk::commands(&area.env(), Path::new(&psql)));
}
