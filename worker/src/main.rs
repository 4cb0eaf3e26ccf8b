use std::process::ExitCode;

use runtime::clock::Clock;
use runtime::config::load::load;
use runtime::lifecycle;

fn main() -> ExitCode {
    let config: worker::config::Config = load();
    let telemetry = config.service.telemetry.clone();
    lifecycle::run("worker", &telemetry, |lifecycle| {
        worker::run(config, Clock::system(), lifecycle)
    })
}
