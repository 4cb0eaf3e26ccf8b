use std::process::ExitCode;

use runtime::clock::Clock;
use runtime::config::load::load;
use runtime::lifecycle;
use worker::config::{Config, Role, role};
use worker::delivery;
use worker::delivery::config::DeliveryConfig;

fn main() -> ExitCode {
    match role() {
        Role::Pipeline => {
            let config: Config = load();
            let telemetry = config.service.telemetry.clone();
            lifecycle::run("worker", &telemetry, |lifecycle| {
                worker::run(config, Clock::system(), lifecycle)
            })
        }
        Role::Delivery => {
            let config: DeliveryConfig = load();
            let telemetry = config.telemetry.clone();
            lifecycle::run("delivery", &telemetry, |lifecycle| {
                delivery::run(config, Clock::system(), lifecycle)
            })
        }
    }
}
