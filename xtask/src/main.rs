//! `cargo xtask …`: the developer commands.
//!
//! Linux only: `/proc` identifies processes, so that only those that these commands started are stopped.
#![expect(
    clippy::print_stdout,
    reason = "a command line: what it prints is its interface"
)]

mod cargo_tool;
mod ci;
mod clients;
mod conformance;
mod dashboard;
mod demo;
mod deploy_check;
mod dev;
mod dev_servers;
mod fuzz;
mod node;
mod oracles;
mod release;
mod release_check;
#[cfg(test)]
mod repository;
mod snippets;
mod sqlx;
mod test;
mod tool;
mod tracker;
mod walk;
mod web;
mod whole_service;

use std::process::ExitCode;

use anyhow::Result;
use clap::Parser;
use harness::area::Checkout;
use harness::interrupt::Interrupt;
use harness::run_command;

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
    /// Run the tests of `web/clients/` alone: the packages for Node and Python, without and with a service.
    TestClients,
    /// Run the examples of the documents alone, against a service.
    TestExamples,
    /// Rewrite the committed `.sqlx` from the migrations and the queries.
    Sqlx {
        /// Change nothing; fail when `.sqlx` is out of date.
        #[arg(long)]
        check: bool,
    },
    /// Check the files of `deploy/` and the migrations against schemas and linters, and the links of the documents.
    DeployCheck,
    /// Try before a release what takes too long for every change: package, containers, apps, the whole API, chaos.
    ReleaseCheck(release_check::Options),
    /// Make everything of a release in one directory: packages, image, SBOMs, symbols, checksums.
    Release(release::Options),
    /// Everything the continuous integration runs, in its order.
    Ci,
    /// Fuzz parsers. Needs a nightly toolchain.
    Fuzz(fuzz::Options),
    /// Measure the release build on this machine.
    Bench(tool::Options),
    /// Break servers, services and the network under load, and check that nothing is lost and nothing counted twice.
    Chaos(tool::Options),
}

fn main() -> ExitCode {
    let command = Command::parse();
    run_command(|checkout, interrupt| run(command, checkout, interrupt))
}

fn run(command: Command, checkout: &Checkout, interrupt: &Interrupt) -> Result<ExitCode> {
    let done = match command {
        Command::Test { args } => return test::test(checkout, &args, interrupt),
        Command::Ci => return ci::ci(checkout, interrupt),
        Command::Bench(options) => return tool::bench(checkout, &options, interrupt),
        Command::Chaos(options) => return tool::chaos(checkout, &options, interrupt),
        Command::Dev(options) => dev::dev(checkout, &options, interrupt),
        Command::Stop => dev::stop(checkout),
        Command::TestWeb => test::test_web(checkout, interrupt),
        Command::TestClients => test::test_clients(checkout, interrupt),
        Command::TestExamples => test::test_examples(checkout, interrupt),
        Command::Sqlx { check } => sqlx::sqlx(checkout, check, interrupt),
        Command::DeployCheck => deploy_check::check(checkout, interrupt),
        Command::ReleaseCheck(options) => release_check::run(checkout, &options, interrupt),
        Command::Release(options) => release::release(checkout, &options, interrupt),
        Command::Fuzz(options) => fuzz::fuzz(checkout, &options, interrupt),
    };
    done.map(|()| ExitCode::SUCCESS)
}
