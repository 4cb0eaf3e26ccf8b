//! `cargo xtask deploy-check --package-upgrade --before DIR`: the Debian package of the release before, installed in a container with systemd,
//! upgraded to this one's, and back. `xtask/deploy/package-upgrade.sh` tries it; by hand, because it takes minutes.

use std::fs;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use harness::area::Checkout;
use harness::interrupt::Interrupt;
use harness::process;
use harness::progress::Step;
use harness::servers::postgres::is_root;
use harness::servers::{debian, nats};

use super::options::{Options, build_debug_programs};
use super::package;

const SCRIPT: &str = "xtask/deploy/package-upgrade.sh";
const PACKAGES: [&str; 2] = ["debootstrap", "systemd-container"];

pub(super) fn check(checkout: &Checkout, options: &Options, interrupt: &Interrupt) -> Result<()> {
    ensure!(is_root(), "a container with systemd requires root");
    let before = options.before()?.context("--before names no checkout")?;
    build_debug_programs(checkout, interrupt)?;
    debian::install(&PACKAGES, interrupt)?;
    let work = checkout.target_dir().join("package-upgrade");
    fs::create_dir_all(&work)?;
    let version = env!("CARGO_PKG_VERSION");
    // Earlier than any other, also while the next release has the same version still.
    let old = package::build(&before, &work.join("before"), &format!("{version}~before"))?;
    let new = package::build(checkout, &work.join("after"), version)?;
    let step = Step::start("Upgrading the Debian package in a container with systemd");
    let mut script = Command::new(checkout.root.join(SCRIPT));
    script.args([&work, &old, &new, &nats::find_or_fetch(checkout, interrupt)?]);
    process::run(&mut script, interrupt)?;
    step.done("it works");
    Ok(())
}
