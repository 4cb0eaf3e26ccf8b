//! Schemas and linters, pinned in `xtask/deploy`.

use std::ffi::OsString;
use std::fs;
use std::path::PathBuf;
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
/// Is copied beside the packages it imports.
pub(super) const CUSTOM_RESOURCES: &str = "custom-resources.mjs";

pub(super) struct Linters {
    pinned: Pinned,
    node: Node,
    /// `None` if it is neither installed nor can be fetched.
    pub(super) promtool: Option<PathBuf>,
    /// As well.
    pub(super) caddy: Option<PathBuf>,
    /// The server that the tests run.
    pub(super) nats: PathBuf,
}

impl Linters {
    pub(super) fn provide(checkout: &Checkout, interrupt: &Interrupt) -> Result<Self> {
        provide_systemd(interrupt)?;
        let fetched = |package, program| fetch(checkout, package, program, interrupt);
        let promtool = fetched("prometheus", "promtool")?;
        let caddy = fetched("caddy", "caddy")?;
        let linters = Self {
            pinned: Pinned::of(checkout, SOURCES, "linters")?,
            node: Node::provide(checkout, interrupt)?,
            promtool,
            caddy,
            nats: nats::find_or_fetch(checkout, interrupt)?,
        };
        let works = || process::output(linters.python("check-jsonschema").arg("--version")).is_ok();
        let what = "schemas and linters";
        linters.pinned.install(what, &linters.node, works, interrupt)?;
        fs::copy(
            checkout.root.join(SOURCES).join(CUSTOM_RESOURCES),
            linters.pinned.dir.join(CUSTOM_RESOURCES),
        )?;
        Ok(linters)
    }

    /// A program of the Python environment.
    pub(super) fn python(&self, program: &str) -> Command {
        Command::new(self.pinned.python(program))
    }

    /// remark's plugin, by its path.
    pub(super) fn link_checker(&self) -> OsString {
        let mut plugin = self.pinned.node_modules().into_os_string();
        plugin.push("/remark-validate-links/index.js=repository:false");
        plugin
    }

    /// A script below the pinned packages, run by Node.
    pub(super) fn javascript(&self, script: &str) -> Command {
        let mut command = Command::new(&self.node.program);
        command
            .current_dir(&self.pinned.dir)
            .arg(self.pinned.dir.join(script));
        command
    }
}

/// Extracts a program from Debian's package of a server, without installing it.
fn fetch(checkout: &Checkout, package: &str, name: &str, interrupt: &Interrupt) -> Result<Option<PathBuf>> {
    let dir = &checkout.target_dir().join(name);
    let program = dir.join("usr/bin").join(name);
    if let Some(found) = find_all(name).into_iter().next() {
        return Ok(Some(found));
    }
    if program.is_file() {
        return Ok(Some(program));
    }
    if find_all("apt-get").is_empty() {
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

/// Installs systemd's tools on Debian.
fn provide_systemd(interrupt: &Interrupt) -> Result<()> {
    if find_all("systemd-analyze").is_empty() {
        debian::install(&["systemd"], interrupt)?;
    }
    Ok(())
}
