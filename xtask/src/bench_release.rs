//! `cargo xtask bench` of the everyday build, which has nothing that measures: it builds the release, itself with what measures
//! among it, and becomes that.

use std::env;
use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::process::Command;

use anyhow::{Context, Result};

use crate::area::Checkout;
use crate::cargo::cargo;
use crate::interrupt::Interrupt;
use crate::process;
use crate::progress::Step;

#[derive(clap::Args)]
#[command(disable_help_flag = true)]
pub(crate) struct Options {
    /// `--help` lists the scenarios, once they are built.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    args: Vec<OsString>,
}

pub(crate) fn bench(checkout: &Checkout, options: &Options, interrupt: &Interrupt) -> Result<()> {
    let step = Step::start("Building the release");
    let mut build = cargo(checkout);
    build.args(["build", "--release", "--bins", "--features=xtask/bench"]);
    build.args(
        ["ingest", "worker", "webhook-consumer", "ctl", "xtask"]
            .map(|package| format!("--package={package}")),
    );
    process::run(&mut build, interrupt)?;
    step.done("built");
    let program = checkout.released().bin_dir.join("xtask");
    let mut released = Command::new(&program);
    released
        .arg("bench")
        .args(&options.args)
        .current_dir(env::current_dir()?);
    // Returns only when it failed.
    Err(released.exec()).with_context(|| format!("cannot start {}", program.display()))
}
