//! Stripe's own libraries, as judges of our signatures: pinned by version and hash in `ingest/tests/oracles`, and installed
//! below the target directory, where the tests find them by the environment.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};
use sha2::{Digest, Sha256};

use crate::area::Checkout;
use crate::interrupt::Interrupt;
use crate::keys::hex;
use crate::process::{self, find_all};
use crate::progress::Step;
use crate::python;
use crate::servers::debian;

/// What is installed, and nothing else.
const PINS: [&str; 3] = ["package.json", "package-lock.json", "requirements.txt"];

pub(crate) struct Oracles {
    node: PathBuf,
    node_modules: PathBuf,
    python: PathBuf,
}

impl Oracles {
    pub(crate) fn export(&self, command: &mut Command) {
        command
            .env("RT_NODE", &self.node)
            .env("RT_STRIPE_NODE_MODULES", &self.node_modules)
            .env("RT_STRIPE_PYTHON", &self.python);
    }

    /// Run once, not only looked at: an installation that was moved no longer starts.
    fn work(&self) -> bool {
        let mut javascript = Command::new(&self.node);
        javascript
            .env("NODE_PATH", &self.node_modules)
            .args(["-e", "require('stripe')"]);
        let mut python = Command::new(&self.python);
        python.args(["-c", "import stripe"]);
        process::output(&mut javascript).is_ok() && process::output(&mut python).is_ok()
    }
}

/// Installs them once for each set of pins.
pub(crate) fn provide(checkout: &Checkout, interrupt: &Interrupt) -> Result<Oracles> {
    let sources = checkout.root.join("ingest/tests/oracles");
    let dir = checkout.target_dir().join(directory(&sources)?);
    if find_all("npm").is_empty() {
        debian::install(&["nodejs", "npm"], interrupt)?;
    }
    let program = |name: &str| {
        find_all(name).into_iter().next().with_context(|| {
            format!("Stripe's library for JavaScript needs {name}, which is not on this machine and could not be installed")
        })
    };
    let oracles = Oracles {
        node: program("node")?,
        node_modules: dir.join("node_modules"),
        python: dir.join("python/bin/python"),
    };
    let marker = dir.join("complete");
    if marker.is_file() && oracles.work() {
        return Ok(oracles);
    }
    let step = Step::start("Installing Stripe's libraries, which the signatures are compared with");
    fs::create_dir_all(&dir)?;
    for pin in PINS {
        fs::copy(sources.join(pin), dir.join(pin))?;
    }
    let mut npm = Command::new(program("npm")?);
    npm.args([
        "ci",
        "--ignore-scripts",
        "--no-audit",
        "--no-fund",
        "--loglevel=error",
    ]);
    process::run(npm.current_dir(&dir), interrupt)?;
    let requirements = dir.join("requirements.txt");
    let packages = [
        "--require-hashes".as_ref(),
        "--no-deps".as_ref(),
        "--requirement".as_ref(),
        requirements.as_os_str(),
    ];
    python::make_environment(&dir.join("python"), &packages, interrupt)?;
    fs::write(marker, "")?;
    step.done("installed");
    Ok(oracles)
}

/// Named by the pins: others are installed beside them.
fn directory(sources: &Path) -> Result<String> {
    let mut hash = Sha256::new();
    for pin in PINS {
        hash.update(fs::read(sources.join(pin))?);
    }
    let hash = hex(&hash.finalize());
    Ok(format!("stripe-{}", hash.get(..12).unwrap_or(&hash)))
}
