//! `cargo xtask bench`: a release build under load, on its own servers that start empty.
//!
//! Parts: the load generator ([`load`], with [`requests`] and [`payments`]), measurements ([`outcome`],
//! [`usage`]), the environment ([`environment`], with programs and customers from [`market`]), what figures are
//! compared with ([`serve`], [`baseline`]), results ([`report`], [`page`]), and one module a scenario. Load
//! generator, service and servers share the machine, so compare figures with each other, not with those of
//! another machine.

#![expect(
    clippy::print_stdout,
    reason = "a command line: what it prints is its interface"
)]

mod answer;
mod baseline;
mod environment;
mod facts;
mod history;
mod load;
mod market;
mod outcome;
mod page;
mod payments;
mod report;
mod requests;
mod scenarios;
mod serve;
mod streams;
mod usage;

use std::process::ExitCode;

use clap::Parser;

#[derive(Parser)]
#[command(name = "cargo xtask bench", bin_name = "cargo xtask bench")]
struct Command {
    #[command(flatten)]
    options: scenarios::Options,
}

fn main() -> ExitCode {
    let command = Command::parse();
    harness::run_command(|checkout, interrupt| {
        scenarios::bench(checkout, &command.options, interrupt).map(|()| ExitCode::SUCCESS)
    })
}
