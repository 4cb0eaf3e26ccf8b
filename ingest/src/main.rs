use std::process::ExitCode;

use runtime::clock::Clock;
use runtime::config::load::load;
use runtime::lifecycle;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let config: ingest::config::Config = load();
    let telemetry = config.service.telemetry.clone();
    lifecycle::run("ingest", &telemetry, |lifecycle| {
        ingest::run(config, Clock::system(), lifecycle)
    })
}
