//! `bench` and `chaos`: separate programs, built with the services they start, then run in place of this command.

use std::env;
use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode};

use anyhow::{Context, Result};
use harness::area::Checkout;
use harness::cargo::cargo;
use harness::interrupt::Interrupt;
use harness::process;
use harness::progress::Step;

#[derive(clap::Args)]
#[command(disable_help_flag = true)]
pub(crate) struct Options {
    /// The tool's own; `--help` lists them.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    args: Vec<OsString>,
}

pub(crate) fn bench(checkout: &Checkout, options: &Options, interrupt: &Interrupt) -> Result<ExitCode> {
    let packages = ["ingest", "worker", "webhook-consumer", "ctl", "bench"];
    let mut build = cargo(checkout);
    build.args(["build", "--bins", "--release"]);
    build.args(packages.map(|package| format!("--package={package}")));
    run(&checkout.released(), "bench", &mut build, options, interrupt)
}

/// A debug build, as for `cargo xtask test`: only those have crash points.
pub(crate) fn chaos(checkout: &Checkout, options: &Options, interrupt: &Interrupt) -> Result<ExitCode> {
    let mut build = cargo(checkout);
    build.args(["build", "--bins", "--workspace"]);
    run(checkout, "chaos", &mut build, options, interrupt)
}

/// Returns only on failure.
fn run(
    checkout: &Checkout,
    name: &str,
    build: &mut Command,
    options: &Options,
    interrupt: &Interrupt,
) -> Result<ExitCode> {
    let step = Step::start(format_args!("Building for {name}"));
    process::run(build, interrupt)?;
    step.done("built");
    let program = checkout.bin_dir.join(name);
    let mut command = Command::new(&program);
    command.args(&options.args).current_dir(env::current_dir()?);
    Err(command.exec()).with_context(|| format!("cannot start {}", program.display()))
}
