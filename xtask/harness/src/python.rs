//! Virtual environments of Python, so that nothing is installed into the machine's.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result};

use crate::area::{Checkout, remove};
use crate::interrupt::Interrupt;
use crate::process::{self, find_all};
use crate::progress::Step;
use crate::servers::debian;

/// The file that pins an environment's packages.
const PINS: &str = "requirements.txt";

/// Where the environment of a directory's pins belongs: another one for each content.
pub(crate) fn place_of(checkout: &Checkout, sources: &str) -> Result<PathBuf> {
    checkout.place_of(&checkout.root.join(sources).join(PINS))
}

/// The environment of what a directory of the repository pins; it is made if it is not there.
pub fn provide(checkout: &Checkout, sources: &str, interrupt: &Interrupt) -> Result<PathBuf> {
    let environment = place_of(checkout, sources)?;
    // The marker is missing after an interrupted installation.
    let marker = environment.join("complete");
    // One that was moved with its target directory, or whose Python is gone, no longer starts.
    let starts = || process::output(Command::new(environment.join("bin/pip")).arg("--version")).is_ok();
    if marker.is_file() && starts() {
        return Ok(environment);
    }
    let step = Step::start(format_args!("Installing what {sources}/{PINS} pins"));
    if python().is_none() {
        debian::install(&["python3", "python3-venv"], interrupt)?;
    }
    let python = python().context(
        "this needs python3 with its venv module, which is not on this machine and could not be installed here (Debian: \
         apt-get install python3-venv)",
    )?;
    remove(&environment)?;
    process::run(
        Command::new(python).args(["-m", "venv"]).arg(&environment),
        interrupt,
    )?;
    let mut pip = Command::new(environment.join("bin/pip"));
    // What packages need is pinned beside them, so that nothing is added.
    pip.args(["install", "--quiet", "--disable-pip-version-check", "--no-deps"]);
    pip.arg("--requirement")
        .arg(checkout.root.join(sources).join(PINS));
    process::run(&mut pip, interrupt)?;
    fs::write(marker, "")?;
    step.done("installed");
    Ok(environment)
}

/// A Python with venv, which is a separate package on Debian.
fn python() -> Option<PathBuf> {
    find_all("python3")
        .find(|python| process::output(Command::new(python).args(["-c", "import venv, ensurepip"])).is_ok())
}
