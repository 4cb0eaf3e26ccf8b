//! `cargo xtask ci`: every check of the continuous integration, fastest first; stops at the first failure.

use std::env;
use std::fs;
use std::path::PathBuf;
use std::process::{Command, ExitCode};
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use harness::area::Checkout;
use harness::cargo::cargo;
use harness::interrupt::Interrupt;
use harness::process;
use harness::progress::{Step, note};

use crate::node::Node;
use crate::{cargo_tool, deploy_check, sqlx, test};

const CARGO_DENY: &str = "cargo-deny";
const CARGO_DENY_VERSION: &str = "0.20.2";

/// What may not be in the dependency trees of programs: no HTTP client, but the one of the worker's delivery role.
const RULES: [(&str, &str); 4] = [
    ("ingest", "deny.services.toml"),
    ("webhook-consumer", "deny.services.toml"),
    ("ctl", "deny.services.toml"),
    ("worker", "deny.worker.toml"),
];

type Check = fn(&Checkout, &Interrupt) -> Result<()>;

/// Directories with a `package-lock.json`.
const NODE_PACKAGES: [&str; 5] = [
    "web/clients/node",
    "web/dashboard",
    "web/tracker",
    "ingest/tests/oracles",
    "xtask/deploy",
];

const CHECKS: [(&str, Check); 7] = [
    ("formatting", formatting),
    ("dependencies", dependencies),
    ("advisories", advisories),
    ("npm's advisories", npm_advisories),
    ("clippy", clippy),
    ("deployment files", deploy_check::check),
    ("sqlx", |checkout, interrupt| {
        sqlx::sqlx(checkout, true, interrupt)
    }),
];

/// Returns the test runner's exit code once every other check has passed.
pub(crate) fn ci(checkout: &Checkout, interrupt: &Interrupt) -> Result<ExitCode> {
    let started = Instant::now();
    for (name, check) in CHECKS {
        let step = Step::start(format_args!("Check: {name}"));
        check(checkout, interrupt).with_context(|| format!("the check of {name} failed"))?;
        step.done("done");
    }
    let code = test::test(checkout, &[], interrupt)?;
    note(format_args!(
        "everything took {:.0} s",
        started.elapsed().as_secs_f64()
    ));
    Ok(code)
}

fn formatting(checkout: &Checkout, interrupt: &Interrupt) -> Result<()> {
    process::run(cargo(checkout).args(["fmt", "--all", "--check"]), interrupt)
}

fn clippy(checkout: &Checkout, interrupt: &Interrupt) -> Result<()> {
    let mut command = cargo(checkout);
    command.args(["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"]);
    process::run(&mut command, interrupt)
}

fn dependencies(checkout: &Checkout, interrupt: &Interrupt) -> Result<()> {
    let mut deny = cargo_deny(checkout, interrupt)?;
    process::run(deny.args(["check", "bans", "licenses", "sources"]), interrupt)?;
    for (package, rules) in RULES {
        let mut deny = cargo_deny(checkout, interrupt)?;
        deny.args(["--manifest-path", &format!("{package}/Cargo.toml")])
            .args(["--config", rules, "check", "bans"]);
        process::run(&mut deny, interrupt)?;
    }
    Ok(())
}

/// Only with a database on this machine: a check that needs the network would fail for other reasons.
fn advisories(checkout: &Checkout, interrupt: &Interrupt) -> Result<()> {
    if !has_advisory_database() {
        note("SKIPPED: no advisory database on this machine (`cargo deny fetch` gets one)");
        return Ok(());
    }
    let mut deny = cargo_deny(checkout, interrupt)?;
    process::run(deny.args(["check", "--disable-fetch", "advisories"]), interrupt)
}

/// Asks npm's registry; without an answer the check is reported as skipped.
fn npm_advisories(checkout: &Checkout, interrupt: &Interrupt) -> Result<()> {
    let node = Node::provide(checkout, interrupt)?;
    for dir in NODE_PACKAGES {
        let mut npm = node.npm(&checkout.root.join(dir))?;
        npm.args(["audit", "--package-lock-only", "--json", "--audit-level=moderate"]);
        let audit = npm.output().context("npm could not be started")?;
        let report = String::from_utf8_lossy(&audit.stdout);
        if !report.contains("\"auditReportVersion\"") {
            note(format_args!("SKIPPED: {dir}: npm's registry gave no advisories"));
            continue;
        }
        ensure!(audit.status.success(), "{dir}: there are advisories:\n{report}");
    }
    Ok(())
}

/// cargo-deny keeps one directory for each source.
fn has_advisory_database() -> bool {
    let cargo_home = env::var_os("CARGO_HOME")
        .map(PathBuf::from)
        .or_else(|| env::home_dir().map(|home| home.join(".cargo")));
    cargo_home
        .and_then(|home| fs::read_dir(home.join("advisory-dbs")).ok())
        .is_some_and(|mut databases| databases.any(|entry| entry.is_ok_and(|entry| entry.path().is_dir())))
}

/// The one on the path, otherwise one that is built.
fn cargo_deny(checkout: &Checkout, interrupt: &Interrupt) -> Result<Command> {
    let program = match process::find_all(CARGO_DENY).next() {
        Some(found) => found,
        None => cargo_tool::provide(checkout, CARGO_DENY, CARGO_DENY_VERSION, interrupt)?.join(CARGO_DENY),
    };
    let mut command = Command::new(program);
    command.current_dir(&checkout.root);
    Ok(command)
}
