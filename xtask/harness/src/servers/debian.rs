//! Installs Debian packages without starting their services.

use std::process::Command;

use anyhow::Result;

use super::postgres::is_root;
use crate::interrupt::Interrupt;
use crate::process;
use crate::progress::{Step, note};

/// As root.
const INSTALL: &str = include_str!("../../../deploy/install-packages.sh");

/// Installs the packages; does nothing on other distributions, or if sudo needs a password.
pub fn install(packages: &[&str], interrupt: &Interrupt) -> Result<()> {
    let may_sudo = || process::output(Command::new("sudo").args(["-n", "true"])).is_ok();
    if process::find_all("apt-get").next().is_none() || !(is_root() || may_sudo()) {
        return Ok(());
    }
    let step = Step::start(format_args!("Installing Debian packages: {}", packages.join(" ")));
    let mut install = Command::new(if is_root() { "env" } else { "sudo" });
    if !is_root() {
        install.arg("-n");
    }
    install
        .args(["sh", "-c", INSTALL, "install-packages"])
        .args(packages);
    process::run(&mut install, interrupt)?;
    step.done("installed; their services do not run");
    Ok(())
}

/// Installs a package unless its program is there. Without it, who needs it fails or is skipped.
pub fn try_install(program: &str, package: &str, interrupt: &Interrupt) {
    if process::find_all(program).next().is_none() {
        install(&[package], interrupt).unwrap_or_else(|error| note(format_args!("{error:#}")));
    }
}
