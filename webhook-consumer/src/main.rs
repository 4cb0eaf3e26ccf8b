use std::process::ExitCode;

use common::runtime::clock::Clock;
use common::runtime::config::load::load;
use common::runtime::lifecycle;

fn main() -> ExitCode {
    let config: webhook_consumer::config::Config = load();
    let telemetry = config.service.telemetry.clone();
    lifecycle::run("webhook-consumer", &telemetry, |lifecycle| {
        webhook_consumer::run(config, Clock::system(), lifecycle)
    })
}
