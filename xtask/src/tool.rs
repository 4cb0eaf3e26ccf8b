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

pub(crate) struct Tool {
    /// Name of program and package.
    name: &'static str,
    is_release: bool,
    packages: &'static [&'static str],
}

pub(crate) const BENCH: Tool = Tool {
    name: "bench",
    is_release: true,
    packages: &[
        "--package=ingest",
        "--package=worker",
        "--package=webhook-consumer",
        "--package=ctl",
        "--package=bench",
    ],
};

/// A debug build: only those have crash points.
pub(crate) const CHAOS: Tool = Tool {
    name: "chaos",
    is_release: false,
    // The same build as for `cargo xtask test`.
    packages: &["--workspace"],
};

/// Returns only on failure.
pub(crate) fn run(
    checkout: &Checkout,
    tool: &Tool,
    options: &Options,
    interrupt: &Interrupt,
) -> Result<ExitCode> {
    let step = Step::start(format_args!("Building for {}", tool.name));
    let mut cargo = cargo(checkout);
    cargo.args(["build", "--bins"]);
    cargo.args(tool.packages);
    let bin_dir = if tool.is_release {
        cargo.arg("--release");
        checkout.released().bin_dir
    } else {
        checkout.bin_dir.clone()
    };
    process::run(&mut cargo, interrupt)?;
    step.done("built");
    let program = bin_dir.join(tool.name);
    let mut command = Command::new(&program);
    command.args(&options.args).current_dir(env::current_dir()?);
    Err(command.exec()).with_context(|| format!("cannot start {}", program.display()))
}
