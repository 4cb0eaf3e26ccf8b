//! The compose file, started in this machine's Docker Engine. `xtask/deploy/containers.sh` tries it.
//!
//! Where no registry of images is reached, `xtask/deploy/stand-ins.sh` makes the images before, and this checkout's debug programs stand in for a
//! release's.

use std::process::Command;

use anyhow::{Context, Result, ensure};
use harness::area::Checkout;
use harness::interrupt::Interrupt;
use harness::process::{self, find_all};
use harness::progress::Step;
use harness::servers::nats;
use harness::servers::postgres::is_root;

use super::{Options, build_debug_programs};

/// What `stand-ins.sh` calls the image of the programs.
const PROGRAMS: &str = "referral-tracker-programs:stand-in";
/// The Dockerfile's stage that builds them.
const BUILT_IN_THE_IMAGE: &str = "build";

pub(super) fn check(checkout: &Checkout, options: &Options, interrupt: &Interrupt) -> Result<()> {
    ensure!(is_root(), "killing containers as a crash does requires root");
    let compose = match &options.compose {
        Some(program) => program.canonicalize()?,
        None => find_all("docker-compose")
            .next()
            .context("no docker-compose on the search path: name it with --compose")?,
    };
    let programs = if options.stand_ins {
        build_debug_programs(checkout, interrupt)?;
        let mut make = Command::new(checkout.root.join("xtask/deploy/stand-ins.sh"));
        make.args([&nats::find_or_fetch(checkout, interrupt)?, &checkout.bin_dir]);
        process::run(&mut make, interrupt)?;
        PROGRAMS
    } else {
        BUILT_IN_THE_IMAGE
    };
    let step = Step::start("Starting the compose file");
    let mut script = Command::new(checkout.root.join("xtask/deploy/containers.sh"));
    process::run(script.arg(compose).arg(programs), interrupt)?;
    step.done("it works");
    Ok(())
}
