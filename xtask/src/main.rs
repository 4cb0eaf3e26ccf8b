//! `cargo xtask …`: the developer commands.
//!
//! Linux only: processes are told apart by `/proc`, so that nothing but what these commands started is ever stopped.
#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a command line: what it prints is its interface"
)]

mod area;
#[cfg(any(test, feature = "bench"))]
mod bench;
mod cargo;
#[cfg(any(test, feature = "chaos"))]
mod chaos;
mod ci;
mod conformance;
mod dashboard;
mod demo;
mod deploy_check;
mod dev;
#[cfg(test)]
mod documents;
mod env_file;
mod fuzz;
mod interrupt;
mod keys;
#[cfg(test)]
mod migrations;
mod node;
mod oracles;
mod pids;
mod pinned;
mod ports;
mod process;
mod progress;
mod python;
#[cfg(not(any(test, all(feature = "bench", feature = "chaos"))))]
mod rebuilt;
mod scale_out;
mod servers;
mod services;
mod snippets;
mod sqlx;
mod stop;
mod test;
mod tracker;
mod walk;
mod web;
mod whole_service;

use std::process::ExitCode;

use anyhow::Result;
use clap::Parser;

use crate::area::Checkout;
use crate::interrupt::{Interrupt, Interrupted};

#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
enum Command {
    /// Start the whole service on this machine, servers included, with a demo program.
    Dev(dev::Options),
    /// Stop what `dev --detach` left running.
    Stop,
    /// Run every test on real servers.
    Test {
        /// Filters and flags for `cargo nextest run`, or for `cargo test` where nextest is not installed.
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        args: Vec<String>,
    },
    /// Run the tests of `web/` alone: the browser script, the dashboard, and a browser's walk through it.
    TestWeb,
    /// Rewrite the committed `.sqlx` from the migrations and the queries.
    Sqlx {
        /// Change nothing; fail when `.sqlx` is out of date.
        #[arg(long)]
        check: bool,
    },
    /// Check the files of `deploy/` against schemas and linters.
    DeployCheck,
    /// Everything the continuous integration runs, in its order.
    Ci,
    /// Throw things at parsers, decoders and refund arithmetic. Needs a nightly toolchain.
    Fuzz(fuzz::Options),
    /// Measure the release build on this machine.
    #[cfg(any(test, feature = "bench"))]
    Bench(bench::Options),
    /// Measure the release build on this machine.
    #[cfg(not(any(test, feature = "bench")))]
    Bench(rebuilt::Options),
    /// Show that four workers settle more than one, and that nothing is lost while they come and go.
    ScaleOut(scale_out::Options),
    /// Break servers, services and the network under load, and check that nothing is lost and nothing counted twice.
    #[cfg(any(test, feature = "chaos"))]
    Chaos(chaos::Options),
    /// Break servers, services and the network under load, and check that nothing is lost and nothing counted twice.
    #[cfg(not(any(test, feature = "chaos")))]
    Chaos(rebuilt::Options),
}

fn main() -> ExitCode {
    match run(Command::parse()) {
        Ok(code) => code,
        Err(error) if error.is::<Interrupted>() => {
            eprintln!("{error}");
            ExitCode::from(130)
        }
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(command: Command) -> Result<ExitCode> {
    let checkout = Checkout::find()?;
    let interrupt = Interrupt::install()?;
    match command {
        Command::Dev(options) => dev::dev(&checkout, &options, &interrupt).map(|()| ExitCode::SUCCESS),
        Command::Stop => stop::stop(&checkout).map(|()| ExitCode::SUCCESS),
        Command::Test { args } => test::test(&checkout, &args, &interrupt),
        Command::TestWeb => test::test_web(&checkout, &interrupt).map(|()| ExitCode::SUCCESS),
        Command::Sqlx { check } => sqlx::sqlx(&checkout, check, &interrupt).map(|()| ExitCode::SUCCESS),
        Command::DeployCheck => deploy_check::check(&checkout, &interrupt).map(|()| ExitCode::SUCCESS),
        Command::Ci => ci::ci(&checkout, &interrupt),
        Command::Fuzz(options) => fuzz::fuzz(&checkout, &options, &interrupt).map(|()| ExitCode::SUCCESS),
        Command::ScaleOut(options) => {
            scale_out::scale_out(&checkout, &options, &interrupt).map(|()| ExitCode::SUCCESS)
        }
        #[cfg(any(test, feature = "bench"))]
        Command::Bench(options) => bench::bench(&checkout, &options, &interrupt).map(|()| ExitCode::SUCCESS),
        #[cfg(not(any(test, feature = "bench")))]
        Command::Bench(options) => rebuilt::run(&checkout, &rebuilt::BENCH, &options, &interrupt),
        #[cfg(any(test, feature = "chaos"))]
        Command::Chaos(options) => chaos::chaos(&checkout, &options, &interrupt),
        #[cfg(not(any(test, feature = "chaos")))]
        Command::Chaos(options) => rebuilt::run(&checkout, &rebuilt::CHAOS, &options, &interrupt),
    }
}
