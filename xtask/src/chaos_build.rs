//! `cargo xtask chaos` of the everyday build, which has nothing that breaks things: it builds the services and itself with it,
//! and becomes that. Debug builds: only they have the points at which a process can be made to die.

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

pub(crate) fn chaos(checkout: &Checkout, options: &Options, interrupt: &Interrupt) -> Result<ExitCode> {
    let mut program = build(checkout, interrupt)?;
    program
        .arg("chaos")
        .args(&options.args)
        .current_dir(env::current_dir()?);
    // Returns only when it failed.
    Err(program.exec()).with_context(|| format!("cannot start {}", program.get_program().display()))
}

/// This command with what breaks things, and the services beside it.
pub(crate) fn build(checkout: &Checkout, interrupt: &Interrupt) -> Result<Command> {
    let step = Step::start("Building");
    let mut build = cargo(checkout);
    build.args(["build", "--workspace", "--bins", "--features=xtask/chaos"]);
    process::run(&mut build, interrupt)?;
    step.done("built");
    Ok(Command::new(checkout.bin_dir.join("xtask")))
}
