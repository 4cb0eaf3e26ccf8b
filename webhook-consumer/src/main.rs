use std::process::ExitCode;

use clap::Parser;
use common::runtime::clock::Clock;
use common::runtime::lifecycle;

fn main() -> ExitCode {
    let config = webhook_consumer::config::Config::parse();
    lifecycle::run("webhook-consumer", |lifecycle| {
        webhook_consumer::run(config, Clock::system(), lifecycle)
    })
}
