//! `cargo xtask deploy-check --containers`: the compose file, started in this machine's Docker Engine. `xtask/deploy/containers.sh` tries it.
//!
//! By hand: it takes minutes, and an engine. Where no registry of images is reached, `xtask/deploy/stand-ins.sh` makes the images before, and this
//! checkout's debug programs stand in for a release's. With `--before` it begins with the programs of another checkout.

use std::process::Command;

use anyhow::{Context, Result, ensure};
use harness::area::Checkout;
use harness::interrupt::Interrupt;
use harness::process::{self, find_all};
use harness::progress::Step;
use harness::servers::nats;
use harness::servers::postgres::is_root;

use super::options::{Options, build_debug_programs};

const SCRIPT: &str = "xtask/deploy/containers.sh";
const STAND_INS: &str = "xtask/deploy/stand-ins.sh";
/// What `stand-ins.sh` calls the image of the programs.
const PROGRAMS: &str = "referral-tracker-programs:stand-in";
/// And those of the release before.
const PROGRAMS_BEFORE: &str = "referral-tracker-programs:before";
/// The Dockerfile's stage that builds them.
const BUILT_IN_THE_IMAGE: &str = "build";

pub(super) fn check(checkout: &Checkout, options: &Options, interrupt: &Interrupt) -> Result<()> {
    ensure!(is_root(), "killing containers as a crash does requires root");
    let compose = match &options.compose {
        Some(program) => program.canonicalize()?,
        None => find_all("docker-compose")
            .into_iter()
            .next()
            .context("no docker-compose on the search path: name it with --compose")?,
    };
    let before = options.before()?;
    ensure!(
        before.is_none() || options.stand_ins,
        "--before has debug programs: it needs --stand-ins"
    );
    let programs = if options.stand_ins {
        build_debug_programs(checkout, interrupt)?;
        let mut make = Command::new(checkout.root.join(STAND_INS));
        make.args([&nats::find_or_fetch(checkout, interrupt)?, &checkout.bin_dir])
            .args(before.as_ref().map(|before| &before.bin_dir));
        process::run(&mut make, interrupt)?;
        PROGRAMS
    } else {
        BUILT_IN_THE_IMAGE
    };
    let step = Step::start("Starting the compose file");
    let mut script = Command::new(checkout.root.join(SCRIPT));
    script.arg(compose).arg(programs);
    if before.is_some() {
        script.env("BEFORE", PROGRAMS_BEFORE);
    }
    process::run(&mut script, interrupt)?;
    step.done("it works");
    Ok(())
}
