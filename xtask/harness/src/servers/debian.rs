//! Installs Debian packages without starting their services, or only extracts a program of one.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result};

use super::postgres::is_root;
use crate::area::{Checkout, remove};
use crate::interrupt::Interrupt;
use crate::process;
use crate::progress::Step;

/// As root.
const INSTALL: &str = include_str!("../../../deploy/install-packages.sh");

/// Installs the packages; does nothing on other distributions, or if sudo needs a password.
pub fn install(packages: &[&str], interrupt: &Interrupt) -> Result<()> {
    let may_sudo = || process::output(Command::new("sudo").args(["-n", "true"])).is_ok();
    if process::find_all("apt-get").is_empty() || !(is_root() || may_sudo()) {
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

/// The machine's program of that name, otherwise the one of Debian's package, which is extracted and not
/// installed. `None` if there is neither.
pub fn extract(
    checkout: &Checkout,
    package: &str,
    name: &str,
    interrupt: &Interrupt,
) -> Result<Option<PathBuf>> {
    let dir = &checkout.target_dir().join(name);
    let program = dir.join("usr/bin").join(name);
    if let Some(found) = process::find_all(name).into_iter().next() {
        return Ok(Some(found));
    }
    if program.is_file() {
        return Ok(Some(program));
    }
    if process::find_all("apt-get").is_empty() {
        return Ok(None);
    }
    let step = Step::start(format_args!("Fetching {name}"));
    remove(dir)?;
    fs::create_dir_all(dir)?;
    let mut download = Command::new("apt-get");
    download.args(["--quiet=2", "download", package]).current_dir(dir);
    if process::status(&mut download, interrupt)?.success() {
        let package = fs::read_dir(dir)?
            .filter_map(|entry| Some(entry.ok()?.path()))
            .find(|path| path.extension().is_some_and(|end| end == "deb"))
            .context("apt-get downloaded nothing")?;
        process::run(
            Command::new("dpkg-deb").arg("--extract").args([&package, dir]),
            interrupt,
        )?;
        remove(&package)?;
    }
    step.done(if program.is_file() {
        "fetched"
    } else {
        "not available"
    });
    Ok(program.is_file().then_some(program))
}
