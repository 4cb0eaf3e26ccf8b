use std::process::ExitCode;

use common::runtime::clock::Clock;
use common::runtime::config::load::load;
use common::runtime::lifecycle;

fn main() -> ExitCode {
    let config: worker::config::Config = load();
    let telemetry = config.service.telemetry.clone();
    lifecycle::run("worker", &telemetry, |lifecycle| {
        worker::run(config, Clock::system(), lifecycle)
    })
}
