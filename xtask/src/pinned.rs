//! Packages of Node.js and Python, pinned by version and hash in a directory of the repository and installed below the target
//! directory, once for each set of pins.

use std::fs;
use std::path::PathBuf;

use anyhow::Result;
use harness::area::Checkout;
use harness::interrupt::Interrupt;
use harness::progress::Step;
use harness::python;
use sha2::{Digest, Sha256};

use crate::node::Node;

/// The files that pin them.
const PINS: [&str; 3] = ["package.json", "package-lock.json", "requirements.txt"];

pub(crate) struct Pinned {
    sources: PathBuf,
    pub(crate) dir: PathBuf,
}

impl Pinned {
    /// `sources`: relative to the root. The directory is `name` and a hash of the pins.
    pub(crate) fn of(checkout: &Checkout, sources: &str, name: &str) -> Result<Self> {
        let sources = checkout.root.join(sources);
        let mut hash = Sha256::new();
        for pin in PINS {
            hash.update(fs::read(sources.join(pin))?);
        }
        let hash = hex::encode(hash.finalize());
        let dir = format!("{name}-{}", hash.get(..12).unwrap_or(&hash));
        Ok(Self {
            sources,
            dir: checkout.target_dir().join(dir),
        })
    }

    /// A program of the Python environment.
    pub(crate) fn python(&self, program: &str) -> PathBuf {
        self.dir.join("python/bin").join(program)
    }

    pub(crate) fn node_modules(&self) -> PathBuf {
        self.dir.join("node_modules")
    }

    /// `what` is printed. `works` runs an existing installation: one that was moved no longer starts.
    pub(crate) fn install(
        &self,
        what: &str,
        node: &Node,
        works: impl FnOnce() -> bool,
        interrupt: &Interrupt,
    ) -> Result<()> {
        let marker = self.dir.join("complete");
        if marker.is_file() && works() {
            return Ok(());
        }
        let step = Step::start(format_args!("Installing {what}"));
        fs::create_dir_all(&self.dir)?;
        for pin in PINS {
            fs::copy(self.sources.join(pin), self.dir.join(pin))?;
        }
        node.install(&self.dir, interrupt)?;
        let requirements = self.dir.join("requirements.txt");
        let packages = [
            "--require-hashes".as_ref(),
            "--no-deps".as_ref(),
            "--requirement".as_ref(),
            requirements.as_os_str(),
        ];
        python::make_environment(&self.dir.join("python"), &packages, interrupt)?;
        fs::write(marker, "")?;
        step.done("installed");
        Ok(())
    }
}
