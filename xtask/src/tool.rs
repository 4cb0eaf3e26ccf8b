//! Tools that are programs of their own (`bench`, `chaos`): built with the services they start, then run in place of this command.

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
    /// `--help` lists them once the tool is built.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    args: Vec<OsString>,
}

/// A tool and what is built for it.
pub(crate) struct Tool {
    /// Of the program and its package.
    name: &'static str,
    is_release: bool,
    /// As cargo takes them.
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

/// Only debug builds have the points at which a process can be made to die.
pub(crate) const CHAOS: Tool = Tool {
    name: "chaos",
    is_release: false,
    // What `cargo xtask test` has built is good for this too.
    packages: &["--workspace"],
};

/// Returns only when it failed.
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
