//! Virtual environments of Python, so that nothing is installed into the machine's.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::area::remove;
use crate::interrupt::Interrupt;
use crate::process::{self, find_all};
use crate::servers::debian;
use anyhow::{Context, Result};

/// Creates an environment with `packages`, arguments of `pip install`. The caller marks it as complete.
pub fn make_environment<S: AsRef<OsStr>>(
    environment: &Path,
    packages: &[S],
    interrupt: &Interrupt,
) -> Result<()> {
    if python().is_none() {
        debian::install(&["python3", "python3-venv"], interrupt)?;
    }
    let python = python().context(
        "this needs python3 with its venv module, which is not on this machine and could not be installed here (Debian: \
         apt-get install python3-venv)",
    )?;
    remove(environment)?;
    process::run(
        Command::new(python).args(["-m", "venv"]).arg(environment),
        interrupt,
    )?;
    let mut pip = Command::new(environment.join("bin/pip"));
    pip.args(["install", "--quiet", "--disable-pip-version-check"])
        .args(packages);
    process::run(&mut pip, interrupt)
}

/// A Python with venv, which is a separate package on Debian.
fn python() -> Option<PathBuf> {
    find_all("python3")
        .into_iter()
        .find(|python| process::output(Command::new(python).args(["-c", "import venv, ensurepip"])).is_ok())
}
