use std::process::ExitCode;

use clap::Parser;
use common::runtime::clock::Clock;
use common::runtime::lifecycle;

fn main() -> ExitCode {
    let config = worker::config::Config::parse();
    lifecycle::run("worker", |lifecycle| {
        worker::run(config, Clock::system(), lifecycle)
    })
}
