//! Installs Debian packages without starting their services, or only extracts a program of one.
//!
//! Server packages start a server, create a database cluster and enable both at boot; only their programs are
//! wanted. While apt runs, a policy forbids starting services and creating a cluster. Both settings are
//! removed afterwards; an existing policy is kept.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use crate::area::{Checkout, remove};
use crate::interrupt::Interrupt;
use crate::process;
use crate::progress::{Step, note};

use super::postgres::is_root;

const POLICY: &str = "/usr/sbin/policy-rc.d";
const FORBID_START: &str =
    "#!/bin/sh\n# Present while packages are installed: no service may start.\nexit 101\n";
const CLUSTER_SETTING: &str = "/etc/postgresql-common/createcluster.d/no-main-cluster.conf";
const NO_CLUSTER: &str = "create_main_cluster = false\n";
/// Packages with a service of the same name.
const WITH_SERVICE: [&str; 2] = ["postgresql", "redis-server"];

/// Installs the packages; does nothing without Debian or root rights.
pub fn install(packages: &[&str], interrupt: &Interrupt) -> Result<()> {
    let Some(root) = Root::of_debian() else {
        return Ok(());
    };
    let step = Step::start(format_args!("Installing Debian packages: {}", packages.join(" ")));
    let added: Vec<&str> = packages
        .iter()
        .copied()
        .filter(|package| !is_installed(package))
        .collect();
    let keeps_own_policy = Path::new(POLICY).exists();
    let _policy = (!keeps_own_policy)
        .then(|| root.place(POLICY, FORBID_START))
        .transpose()?;
    let _cluster = packages
        .contains(&"postgresql")
        .then(|| root.place(CLUSTER_SETTING, NO_CLUSTER))
        .transpose()?;

    process::run(root.apt_get().args(["--quiet=2", "update"]), interrupt)?;
    process::run(
        root.apt_get()
            .args(["--quiet=2", "--yes", "--no-install-recommends", "install"])
            .args(packages),
        interrupt,
    )?;
    for service in WITH_SERVICE.iter().filter(|service| added.contains(service)) {
        root.retire(service, keeps_own_policy);
    }
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

fn is_installed(package: &str) -> bool {
    process::output(Command::new("dpkg-query").args(["-W", "-f", "${db:Status-Status}", package]))
        .is_ok_and(|status| status == "installed")
}

/// Root rights, directly or by sudo.
struct Root {
    through_sudo: bool,
}

impl Root {
    /// `None` on other distributions, or if sudo needs a password.
    fn of_debian() -> Option<Self> {
        process::find_all("apt-get").first()?;
        if is_root() {
            return Some(Self { through_sudo: false });
        }
        process::output(Command::new("sudo").args(["-n", "true"]))
            .ok()
            .map(|_| Self { through_sudo: true })
    }

    fn command(&self, program: &str) -> Command {
        if !self.through_sudo {
            return Command::new(program);
        }
        let mut command = Command::new("sudo");
        command.args(["-n", program]);
        command
    }

    fn apt_get(&self) -> Command {
        let mut command = self.command("env");
        // Waits for another package manager.
        command.args([
            "DEBIAN_FRONTEND=noninteractive",
            "apt-get",
            "-o",
            "DPkg::Lock::Timeout=120",
        ]);
        command
    }

    /// Installs an executable file until the result is dropped.
    fn place(&self, path: &'static str, text: &str) -> Result<Placed<'_>> {
        let source = std::env::temp_dir().join(format!("referral-tracker-{}", std::process::id()));
        fs::write(&source, text)?;
        let mut install = self.command("install");
        install.args(["-D", "-m", "0755"]).arg(&source).arg(path);
        let installed = process::output(&mut install).with_context(|| format!("cannot write {path}"));
        remove(&source)?;
        installed?;
        Ok(Placed { root: self, path })
    }

    /// Stops and disables a service that our installation added. Stopping fails if it does not run.
    fn retire(&self, service: &str, may_have_started: bool) {
        let mut disable = self.command("update-rc.d");
        disable.args([service, "disable"]);
        let mut stop = self.command("service");
        stop.args([service, "stop"]);
        for mut command in may_have_started.then_some(stop).into_iter().chain([disable]) {
            let _ = process::output(&mut command);
        }
    }
}

struct Placed<'a> {
    root: &'a Root,
    path: &'static str,
}

impl Drop for Placed<'_> {
    fn drop(&mut self) {
        if let Err(error) = process::output(self.root.command("rm").args(["-f", self.path])) {
            note(format_args!("{} is still there, remove it: {error:#}", self.path));
        }
    }
}
