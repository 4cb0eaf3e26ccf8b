//! Commands that the everyday build has not: it builds itself with what measures or breaks things, and the services beside it,
//! and becomes that.

use std::env;
use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode};

use anyhow::{Context, Result};

use crate::area::Checkout;
use crate::cargo::cargo;
use crate::interrupt::Interrupt;
use crate::process;
use crate::progress::Step;

#[derive(clap::Args)]
#[command(disable_help_flag = true)]
pub(crate) struct Options {
    /// `--help` tells more, once it is built.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    args: Vec<OsString>,
}

/// What a command needs.
pub(crate) struct Build {
    /// Also the feature of this package that has it.
    command: &'static str,
    is_release: bool,
    /// As cargo takes them.
    packages: &'static [&'static str],
}

#[cfg(not(feature = "bench"))]
pub(crate) const BENCH: Build = Build {
    command: "bench",
    is_release: true,
    packages: &[
        "--package=ingest",
        "--package=worker",
        "--package=webhook-consumer",
        "--package=ctl",
        "--package=xtask",
    ],
};

/// Only debug builds have the points at which a process can be made to die.
#[cfg(not(feature = "chaos"))]
pub(crate) const CHAOS: Build = Build {
    command: "chaos",
    is_release: false,
    // What `cargo xtask test` has built is good for this too.
    packages: &["--workspace"],
};

/// Returns only when it failed.
pub(crate) fn run(
    checkout: &Checkout,
    build: &Build,
    options: &Options,
    interrupt: &Interrupt,
) -> Result<ExitCode> {
    let step = Step::start(format_args!("Building for {}", build.command));
    let mut cargo = cargo(checkout);
    cargo.args(["build", "--bins"]);
    cargo.arg(format!("--features=xtask/{}", build.command));
    cargo.args(build.packages);
    let bin_dir = if build.is_release {
        cargo.arg("--release");
        checkout.released().bin_dir
    } else {
        checkout.bin_dir.clone()
    };
    process::run(&mut cargo, interrupt)?;
    step.done("built");
    let program = bin_dir.join("xtask");
    let mut command = Command::new(&program);
    command
        .arg(build.command)
        .args(&options.args)
        .current_dir(env::current_dir()?);
    Err(command.exec()).with_context(|| format!("cannot start {}", program.display()))
}
