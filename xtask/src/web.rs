//! Tools for the parts of `web/`: the packages that their lock files pin, and Chromium.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result};
use harness::area::Checkout;
use harness::interrupt::Interrupt;
use harness::process::find_all;
use harness::progress::Step;
use harness::servers::debian;
use sha2::{Digest, Sha256};

use crate::node::Node;

const CHROMIUM: [&str; 3] = ["chromium", "chromium-browser", "google-chrome"];

/// A directory of `web/` with its packages installed.
pub(crate) struct NodePackage {
    pub(crate) node: Node,
    pub(crate) dir: PathBuf,
}

impl NodePackage {
    /// Installs the packages of `dir`, unless those of its present `package-lock.json` are installed.
    pub(crate) fn provide(checkout: &Checkout, dir: &str, interrupt: &Interrupt) -> Result<Self> {
        let package = Self {
            node: Node::provide(checkout, interrupt)?,
            dir: checkout.root.join(dir),
        };
        let pins = hex::encode(Sha256::digest(fs::read(package.dir.join("package-lock.json"))?));
        let marker = package.dir.join("node_modules/.installed");
        if fs::read_to_string(&marker).is_ok_and(|installed| installed == pins) {
            return Ok(package);
        }
        let step = Step::start(format_args!("Installing the packages of {dir}"));
        package.node.install(&package.dir, interrupt)?;
        fs::write(marker, pins)?;
        step.done("installed");
        Ok(package)
    }

    /// A command of npm.
    pub(crate) fn npm(&self, arguments: &[&str]) -> Result<Command> {
        let mut npm = self.node.npm(&self.dir)?;
        npm.args(arguments);
        Ok(npm)
    }

    /// A script of its `package.json`, with arguments.
    pub(crate) fn script(&self, name: &str, arguments: &[&str]) -> Result<Command> {
        let mut npm = self.node.npm(&self.dir)?;
        npm.args(["run", "--silent", name, "--"]).args(arguments);
        Ok(npm)
    }
}

/// The machine's Chromium; on Debian it is installed if missing.
pub(crate) fn chromium(interrupt: &Interrupt) -> Result<PathBuf> {
    let find = || CHROMIUM.iter().flat_map(|name| find_all(name)).next();
    if find().is_none() {
        debian::install(&["chromium", "fonts-dejavu-core", "fonts-liberation"], interrupt)?;
    }
    find().context(
        "the tests of `web/` need Chromium, which is not on this machine and could not be installed here (Debian: \
         apt-get install chromium)",
    )
}
