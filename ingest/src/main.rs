use std::process::ExitCode;

use clap::Parser;
use common::runtime::clock::Clock;
use common::runtime::lifecycle;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let config = ingest::config::Config::parse();
    lifecycle::run("ingest", |lifecycle| {
        ingest::run(config, Clock::system(), lifecycle)
    })
}
