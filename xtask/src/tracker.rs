//! The browser script's own tests, in the machine's Chromium: against a mock of the service, which can fail on demand, then
//! against the service itself.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use sha2::{Digest, Sha256};

use crate::area::Checkout;
use crate::interrupt::Interrupt;
use crate::keys::hex;
use crate::process::{self, find_all, tail};
use crate::progress::Step;
use crate::servers::debian;
use crate::whole_service::WholeService;

/// Where Debian, Ubuntu and others put it.
const CHROMIUM: [&str; 3] = ["chromium", "chromium-browser", "google-chrome"];

pub(crate) struct Tracker {
    dir: PathBuf,
    npm: PathBuf,
    chromium: PathBuf,
    log: PathBuf,
}

impl Tracker {
    /// Its packages and a browser, installed where they are not there yet.
    pub(crate) fn provide(checkout: &Checkout, interrupt: &Interrupt) -> Result<Self> {
        let dir = checkout.root.join("web/tracker");
        let npm = program(&["npm"], &["nodejs", "npm"], interrupt)?;
        let chromium = program(&CHROMIUM, &["chromium"], interrupt)?;
        install_packages(&npm, &dir, interrupt)?;
        Ok(Self {
            dir,
            npm,
            chromium,
            log: checkout.target_dir().join("tracker.log"),
        })
    }

    pub(crate) fn check_alone(&self, interrupt: &Interrupt) -> Result<()> {
        let step = Step::start("Testing the browser script");
        self.run(&mut self.command(), interrupt)?;
        step.done("passed");
        Ok(())
    }

    pub(crate) fn check_with(&self, service: &WholeService, interrupt: &Interrupt) -> Result<()> {
        let step = Step::start("Testing the browser script with the service");
        let mut command = self.command();
        command
            .envs(service.demo_env.iter())
            .env("TRACKER_API", service.ingest.url());
        self.run(&mut command, interrupt)?;
        step.done("passed");
        Ok(())
    }

    fn command(&self) -> Command {
        let mut command = Command::new(&self.npm);
        command
            .current_dir(&self.dir)
            .args(["test", "--silent"])
            .env_remove("TRACKER_API")
            .env("CHROMIUM", &self.chromium);
        command
    }

    /// A line a test is for those whom it concerns.
    fn run(&self, command: &mut Command, interrupt: &Interrupt) -> Result<()> {
        let log = File::create(&self.log)?;
        let status = process::status(command.stdout(log.try_clone()?).stderr(log), interrupt)?;
        if !status.success() {
            bail!(
                "the browser script's tests failed ({status})\n{}",
                tail(&self.log)
            );
        }
        Ok(())
    }
}

/// The first of these programs that is on this machine, once the packages are.
fn program(names: &[&str], packages: &[&str], interrupt: &Interrupt) -> Result<PathBuf> {
    let find = || names.iter().flat_map(|name| find_all(name)).next();
    if find().is_none() {
        debian::install(packages, interrupt)?;
    }
    find().with_context(|| {
        format!(
            "the browser script's tests need {}, which is not on this machine and could not be installed here (Debian: \
             apt-get install {})",
            names.join(" or "),
            packages.join(" ")
        )
    })
}

/// Once for each lockfile.
fn install_packages(npm: &Path, dir: &Path, interrupt: &Interrupt) -> Result<()> {
    let installed = hex(&Sha256::digest(fs::read(dir.join("package-lock.json"))?));
    let marker = dir.join("node_modules/.installed");
    if fs::read_to_string(&marker).is_ok_and(|found| found == installed) {
        return Ok(());
    }
    let step = Step::start("Installing what the browser script is built and tested with");
    let mut command = Command::new(npm);
    command.current_dir(dir).args([
        "ci",
        "--ignore-scripts",
        "--no-audit",
        "--no-fund",
        "--loglevel=error",
    ]);
    process::run(&mut command, interrupt)?;
    fs::write(marker, installed)?;
    step.done("installed");
    Ok(())
}
