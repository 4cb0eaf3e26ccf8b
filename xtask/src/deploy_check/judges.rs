//! Who judges: schemas and linters, pinned in `xtask/deploy`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};
use harness::area::{Checkout, remove};
use harness::interrupt::Interrupt;
use harness::process::{self, find_all};
use harness::progress::Step;
use harness::servers::{debian, nats};

use crate::node::Node;
use crate::pinned::Pinned;

const SOURCES: &str = "xtask/deploy";
/// Runs beside what it needs.
const SCRIPT: &str = "custom-resources.mjs";

pub(super) struct Judges {
    pinned: Pinned,
    node: Node,
    /// `None` where there is none and none can be had.
    pub(super) promtool: Option<PathBuf>,
    /// The server that tests run.
    pub(super) nats: PathBuf,
}

impl Judges {
    pub(super) fn provide(checkout: &Checkout, interrupt: &Interrupt) -> Result<Self> {
        provide_systemd(interrupt)?;
        let promtool = fetch_promtool(&checkout.target_dir().join("promtool"), interrupt)?;
        let judges = Self {
            pinned: Pinned::of(checkout, SOURCES, "deploy-judges")?,
            node: Node::provide(checkout, interrupt)?,
            promtool,
            nats: nats::find_or_fetch(checkout, interrupt)?,
        };
        let works = || process::output(judges.python("check-jsonschema").arg("--version")).is_ok();
        let what = "what deployment files are checked with";
        judges.pinned.install(what, &judges.node, works, interrupt)?;
        fs::copy(
            checkout.root.join(SOURCES).join(SCRIPT),
            judges.pinned.dir.join(SCRIPT),
        )?;
        Ok(judges)
    }

    /// A program of the Python environment.
    pub(super) fn python(&self, program: &str) -> Command {
        Command::new(self.pinned.python(program))
    }

    /// The script, on what it is to check.
    pub(super) fn custom_resources(&self) -> Command {
        let mut command = Command::new(&self.node.program);
        command.current_dir(&self.pinned.dir).arg(SCRIPT);
        command
    }
}

/// Debian has the whole server in one package; only the one program of it is wanted, and nothing is installed.
fn fetch_promtool(dir: &Path, interrupt: &Interrupt) -> Result<Option<PathBuf>> {
    let program = dir.join("usr/bin/promtool");
    if let Some(found) = find_all("promtool").into_iter().next() {
        return Ok(Some(found));
    }
    if program.is_file() {
        return Ok(Some(program));
    }
    if find_all("apt-get").is_empty() {
        return Ok(None);
    }
    let step = Step::start("Fetching promtool");
    remove(dir)?;
    fs::create_dir_all(dir)?;
    let mut download = Command::new("apt-get");
    download
        .args(["--quiet=2", "download", "prometheus"])
        .current_dir(dir);
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
        "not to be had"
    });
    Ok(program.is_file().then_some(program))
}

/// Where the servers' packages can be installed, this one can too.
fn provide_systemd(interrupt: &Interrupt) -> Result<()> {
    if find_all("systemd-analyze").is_empty() {
        debian::install(&["systemd"], interrupt)?;
    }
    Ok(())
}
