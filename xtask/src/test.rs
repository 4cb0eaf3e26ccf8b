//! `cargo xtask test`: every test, on real servers that start empty.

use std::num::NonZero;
use std::process::{Command, ExitCode, ExitStatus};
use std::thread;

use anyhow::{Result, anyhow};
use harness::area::Checkout;
use harness::cargo::cargo;
use harness::environment::Environment;
use harness::interrupt::Interrupt;
use harness::process;
use harness::progress::{Step, note};
use harness::servers::{Servers, debian};

use crate::clients::Clients;
use crate::conformance;
use crate::dashboard::Dashboard;
use crate::oracles::Oracles;
use crate::snippets;
use crate::tracker::Tracker;
use crate::whole_service::{WholeService, with_whole_service, with_whole_services};

/// Starts the servers while the services, which tests start, are built.
fn start<'a>(checkout: &'a Checkout, interrupt: &'a Interrupt) -> Result<Environment<'a>> {
    thread::scope(|scope| {
        let environment = scope.spawn(|| Environment::start(checkout, checkout.test_area(), interrupt));
        let step = Step::start("Building");
        process::run(
            cargo(checkout).args(["build", "--workspace", "--bins"]),
            interrupt,
        )?;
        step.done("built");
        environment
            .join()
            .map_err(|_| anyhow!("the start of the servers panicked"))?
    })
}

/// Browsers that walk through the dashboard side by side, each through a service of its own.
const WALKERS: usize = 2;

/// The parts of `web/`.
struct Web {
    tracker: Tracker,
    dashboard: Dashboard,
}

impl Web {
    /// Runs the tests that need no service.
    fn check_alone(checkout: &Checkout, interrupt: &Interrupt) -> Result<Self> {
        let (tracker, dashboard) = (
            Tracker::provide(checkout, interrupt)?,
            Dashboard::provide(checkout, interrupt)?,
        );
        tracker.check_alone(interrupt)?;
        dashboard.check_alone(interrupt)?;
        Ok(Self { tracker, dashboard })
    }

    fn check_with(&self, first: &WholeService, all: &[WholeService], interrupt: &Interrupt) -> Result<()> {
        // First, while the demos are unchanged.
        self.dashboard.walk(all, interrupt)?;
        self.tracker.check_with(first, interrupt)
    }
}

/// Builds everything, and starts a service of its own for some checks.
pub(crate) fn with_service(
    checkout: &Checkout,
    interrupt: &Interrupt,
    checks: impl FnOnce(&WholeService) -> Result<()>,
) -> Result<()> {
    with_whole_service(&mut start(checkout, interrupt)?, checks)
}

/// The tests of `web/` alone.
pub(crate) fn test_web(checkout: &Checkout, interrupt: &Interrupt) -> Result<()> {
    let mut environment = start(checkout, interrupt)?;
    let web = Web::check_alone(checkout, interrupt)?;
    with_whole_services(WALKERS, &mut environment, |first, all| {
        web.check_with(first, all, interrupt)
    })
}

/// The packages of `web/clients` alone.
pub(crate) fn test_clients(checkout: &Checkout, interrupt: &Interrupt) -> Result<()> {
    let clients = Clients::provide(checkout, interrupt)?;
    clients.check_alone(interrupt)?;
    with_service(checkout, interrupt, |service| {
        clients.check_with(service, interrupt)
    })
}

/// The examples of the documents alone.
pub(crate) fn test_examples(checkout: &Checkout, interrupt: &Interrupt) -> Result<()> {
    let oracles = Oracles::provide(checkout, interrupt)?;
    with_service(checkout, interrupt, |service| {
        check_examples(checkout, service, &oracles, interrupt)
    })
}

fn check_examples(
    checkout: &Checkout,
    service: &WholeService,
    oracles: &Oracles,
    interrupt: &Interrupt,
) -> Result<()> {
    snippets::check(checkout, service, interrupt)?;
    snippets::webhooks::check(checkout, service, oracles, interrupt)
}

/// Returns the test runner's own exit code.
pub(crate) fn test(checkout: &Checkout, args: &[String], interrupt: &Interrupt) -> Result<ExitCode> {
    let mut environment = start(checkout, interrupt)?;
    // Only the tests of `deploy/backup` need it.
    debian::try_install("pgbackrest", "pgbackrest", interrupt);
    let oracles = match Oracles::provide(checkout, interrupt) {
        // With a filter: most tests do not need them, and those that do fail.
        Err(error) if !args.is_empty() => {
            interrupt.check()?;
            note(format_args!(
                "without the libraries that signatures are compared with: {error:#}"
            ));
            None
        }
        provided => Some(provided?),
    };

    let step = Step::start("Testing");
    let mut runner = runner(checkout, args);
    if let Some(oracles) = &oracles {
        oracles.export(&mut runner);
    }
    let status = process::status(
        with_servers(&mut runner, checkout, &environment.servers),
        interrupt,
    )?;
    if !status.success() {
        step.done("failed");
        return Ok(exit_code(status));
    }
    step.done("passed");
    if let (true, Some(oracles)) = (args.is_empty(), &oracles) {
        let web = Web::check_alone(checkout, interrupt)?;
        let clients = Clients::provide(checkout, interrupt)?;
        clients.check_alone(interrupt)?;
        with_whole_services(WALKERS, &mut environment, |service, all| {
            web.check_with(service, all, interrupt)?;
            clients.check_with(service, interrupt)?;
            check_examples(checkout, service, oracles, interrupt)?;
            conformance::check(checkout, service, conformance::FEW, interrupt)
        })?;
        // Chaos has its own servers.
        drop(environment);
        let step = Step::start("Running a few chaos rounds");
        process::run(cargo(checkout).args(["xtask", "chaos", "--few"]), interrupt)?;
        step.done("passed");
    }
    Ok(ExitCode::SUCCESS)
}

fn runner(checkout: &Checkout, args: &[String]) -> Command {
    let nextest = process::output(cargo(checkout).args(["nextest", "--version"])).is_ok();
    let mut runner = cargo(checkout);
    if !nextest {
        runner.args(["test", "--workspace"]).args(args);
        return runner;
    }
    runner.args(["nextest", "run"]);
    // Tests wait about as long as they work: for servers, and for what services do later.
    let side_by_side = 2 * thread::available_parallelism().map_or(1, NonZero::get);
    runner.env("NEXTEST_TEST_THREADS", side_by_side.to_string());
    // With `-p worker` only the worker's tests are built.
    if !args.iter().any(|arg| arg == "-p" || arg == "--package") {
        runner.arg("--workspace");
    }
    runner.args(args);
    if args.is_empty() {
        runner.args(["--profile", "whole"]);
    }
    runner
}

fn with_servers<'a>(runner: &'a mut Command, checkout: &Checkout, servers: &Servers) -> &'a mut Command {
    runner.envs(servers.urls()).env("RT_BIN_DIR", &checkout.bin_dir);
    // The message of a failed test is enough; a backtrace of the runtime's frames would hide it.
    runner.env("RUST_BACKTRACE", "0");
    // Some tests stop servers, and start their own.
    if let Some(postgres) = &servers.postgres {
        runner.env("RT_POSTGRES_BIN", &postgres.bin_dir);
    }
    if let Some(nats) = &servers.nats {
        runner.env("RT_NATS_SERVER", nats);
    }
    if let Some(redis) = &servers.redis {
        runner.env("RT_REDIS_SERVER", redis);
    }
    runner
}

fn exit_code(status: ExitStatus) -> ExitCode {
    status
        .code()
        .and_then(|code| u8::try_from(code).ok())
        .map_or(ExitCode::FAILURE, ExitCode::from)
}
