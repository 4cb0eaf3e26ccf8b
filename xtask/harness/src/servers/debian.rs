//! Installs Debian packages without starting their services.
//!
//! Server packages start a server, create a database cluster and enable both at boot; only their programs are wanted. While apt runs, a
//! policy forbids starting services and creating a cluster. Both settings are removed afterwards; an existing policy is kept.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};

use crate::area::remove;
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
