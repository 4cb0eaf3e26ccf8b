//! `cargo xtask test`: every test, on real servers that start empty.

use std::process::{Command, ExitCode, ExitStatus};

use anyhow::Result;
use harness::area::Checkout;
use harness::cargo::cargo;
use harness::environment::Environment;
use harness::interrupt::Interrupt;
use harness::process;
use harness::progress::{Step, note};
use harness::servers::Servers;

use crate::conformance;
use crate::dashboard::Dashboard;
use crate::oracles;
use crate::snippets;
use crate::tracker::Tracker;
use crate::whole_service::{WholeService, with_whole_service};

/// The service's processes are built of this very tree: tests start them.
fn start(checkout: &Checkout, interrupt: &Interrupt) -> Result<Environment> {
    let environment = Environment::start(checkout, checkout.test_area(), interrupt)?;
    let step = Step::start("Building");
    process::run(cargo(checkout).args(["build", "--workspace"]), interrupt)?;
    step.done("built");
    Ok(environment)
}

/// What a browser has to do with.
struct Web {
    tracker: Tracker,
    dashboard: Dashboard,
}

impl Web {
    /// Tests of what needs no service are over when this returns.
    fn check_alone(checkout: &Checkout, interrupt: &Interrupt) -> Result<Self> {
        let (tracker, dashboard) = (
            Tracker::provide(checkout, interrupt)?,
            Dashboard::provide(checkout, interrupt)?,
        );
        tracker.check_alone(interrupt)?;
        dashboard.check_alone(interrupt)?;
        Ok(Self { tracker, dashboard })
    }

    fn check_with(&self, service: &WholeService, interrupt: &Interrupt) -> Result<()> {
        // First, while the demo is as it was made up.
        self.dashboard.walk(service, interrupt)?;
        self.tracker.check_with(service, interrupt)
    }
}

/// The tests of `web/` alone.
pub(crate) fn test_web(checkout: &Checkout, interrupt: &Interrupt) -> Result<()> {
    let mut environment = start(checkout, interrupt)?;
    let web = Web::check_alone(checkout, interrupt)?;
    with_whole_service(checkout, &mut environment, interrupt, |service| {
        web.check_with(service, interrupt)
    })
}

/// Returns the test runner's own exit code.
pub(crate) fn test(checkout: &Checkout, args: &[String], interrupt: &Interrupt) -> Result<ExitCode> {
    let mut environment = start(checkout, interrupt)?;
    let oracles = match oracles::provide(checkout, interrupt) {
        // A filter means it for one test by name, and that is seldom the one that needs them: it fails without.
        Err(error) if !args.is_empty() => {
            interrupt.check()?;
            note(format_args!("without Stripe's libraries: {error:#}"));
            None
        }
        provided => Some(provided?),
    };

    let step = Step::start("Testing");
    for mut runner in runners(checkout, args) {
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
    }
    step.done("passed");
    // A filter means it for one test by name.
    if args.is_empty() {
        let web = Web::check_alone(checkout, interrupt)?;
        with_whole_service(checkout, &mut environment, interrupt, |service| {
            web.check_with(service, interrupt)?;
            snippets::check(checkout, service, interrupt)?;
            conformance::check(checkout, service, interrupt)
        })?;
        drop(environment);
        return few_rounds_of_chaos(checkout, interrupt);
    }
    Ok(ExitCode::SUCCESS)
}

/// On servers of their own. The command builds itself anew, with what breaks things.
fn few_rounds_of_chaos(checkout: &Checkout, interrupt: &Interrupt) -> Result<ExitCode> {
    let step = Step::start("Breaking things");
    let status = process::status(cargo(checkout).args(["xtask", "chaos", "--few"]), interrupt)?;
    step.done(if status.success() { "passed" } else { "failed" });
    Ok(exit_code(status))
}

fn runners(checkout: &Checkout, args: &[String]) -> Vec<Command> {
    let nextest = process::output(cargo(checkout).args(["nextest", "--version"])).is_ok();
    let mut runner = cargo(checkout);
    if !nextest {
        runner.args(["test", "--workspace"]).args(args);
        return vec![runner];
    }
    runner.args(["nextest", "run"]);
    // With `-p worker` only the worker's tests are built.
    if !args.iter().any(|arg| arg == "-p" || arg == "--package") {
        runner.arg("--workspace");
    }
    runner.args(args);
    if args.is_empty() {
        runner.args(["--profile", "whole"]);
    }
    // Nextest leaves the examples in the documentation out. A filter means it for one test by name.
    let mut examples = cargo(checkout);
    examples.args(["test", "--workspace", "--doc", "--quiet"]);
    if args.is_empty() {
        vec![runner, examples]
    } else {
        vec![runner]
    }
}

fn with_servers<'a>(runner: &'a mut Command, checkout: &Checkout, servers: &Servers) -> &'a mut Command {
    runner.envs(servers.urls()).env("RT_BIN_DIR", &checkout.bin_dir);
    // Of a test that fails, the message tells what was found; a runtime's hundred frames below it bury that.
    runner.env("RUST_BACKTRACE", "0");
    // Some tests stop a server under load; they start one for themselves.
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
