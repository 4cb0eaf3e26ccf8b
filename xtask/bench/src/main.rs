//! `cargo xtask bench`: a release build under load, on servers of its own that start empty.
//!
//! Parts: the load ([`load`], with requests made ahead by [`template`], [`requests`] and
//! [`payments`]), what it measured ([`outcome`], [`usage`]), the
//! place it goes to ([`place`], with programs and customers from [`market`]), what it is compared with ([`ceilings`],
//! [`baseline`]), what is told of it ([`report`], [`page`]), and one module a scenario. Load, service and servers share this
//! machine, so figures compare with each other, not with those of another machine.

#![expect(
    clippy::print_stdout,
    reason = "a command line: what it prints is its interface"
)]

mod answer;
mod baseline;
mod ceilings;
mod effort;
mod environment;
mod facts;
mod freshness;
mod history;
mod load;
mod market;
mod outcome;
mod page;
mod payments;
mod plot;
mod report;
mod requests;
mod scenarios;
mod serve;
mod streams;
mod template;
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
