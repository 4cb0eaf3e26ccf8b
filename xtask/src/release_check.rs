//! `cargo xtask release-check`: what takes too long for every change, tried before a release. A short form of each part is in
//! `cargo xtask test` or `cargo xtask ci`.

mod containers;
mod package;

use std::path::PathBuf;

use anyhow::Result;
use clap::ValueEnum;
use harness::area::Checkout;
use harness::cargo::cargo;
use harness::interrupt::Interrupt;
use harness::process;

use crate::test::with_service;
use crate::{clients, conformance};

#[derive(clap::Args)]
pub(crate) struct Options {
    /// Only these parts.
    #[arg(value_enum)]
    parts: Vec<Part>,
    /// Start the compose file with images made on this machine of Debian's packages, and debug programs.
    #[arg(long)]
    stand_ins: bool,
    /// Docker Compose 2, if it is not `docker-compose` on the search path.
    #[arg(long)]
    compose: Option<PathBuf>,
}

/// In the order they run in.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Part {
    /// The Debian package, in a container with systemd. Needs root and debootstrap.
    Package,
    /// The compose file, in this machine's Docker Engine. Needs root.
    Containers,
    /// The Next and the Django app of `docs/integrate.md`, from their generators to a refund.
    Apps,
    /// Schemathesis with many examples for each operation.
    Api,
    /// Every kind of chaos round, with a fresh seed.
    Chaos,
}

pub(crate) fn run(checkout: &Checkout, options: &Options, interrupt: &Interrupt) -> Result<()> {
    let is_chosen = |part: &Part| options.parts.is_empty() || options.parts.contains(part);
    for part in Part::value_variants().iter().filter(|part| is_chosen(part)) {
        interrupt.check()?;
        match part {
            Part::Package => package::check(checkout, interrupt)?,
            Part::Containers => containers::check(checkout, options, interrupt)?,
            Part::Apps => with_service(checkout, interrupt, |service| {
                clients::check_apps(checkout, service, interrupt)
            })?,
            Part::Api => with_service(checkout, interrupt, |service| {
                conformance::check(checkout, service, conformance::MANY, interrupt)
            })?,
            Part::Chaos => process::run(cargo(checkout).args(["xtask", "chaos"]), interrupt)?,
        }
    }
    Ok(())
}

/// As `cargo xtask test` builds them: with the same features nothing is compiled twice.
fn build_debug_programs(checkout: &Checkout, interrupt: &Interrupt) -> Result<()> {
    let build = ["build", "--quiet", "--workspace", "--bins"];
    process::run(cargo(checkout).args(build), interrupt)
}
