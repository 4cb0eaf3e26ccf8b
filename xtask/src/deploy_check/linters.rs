//! Schemas and linters, pinned in `xtask/deploy`.

use std::ffi::OsString;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

use anyhow::Result;
use harness::area::Checkout;
use harness::interrupt::Interrupt;
use harness::process::{self, find_all};
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
    /// The server that the tests run.
    pub(super) nats: PathBuf,
}

impl Linters {
    pub(super) fn provide(checkout: &Checkout, interrupt: &Interrupt) -> Result<Self> {
        provide_systemd(interrupt)?;
        let promtool = debian::extract(checkout, "prometheus", "promtool", interrupt)?;
        let linters = Self {
            pinned: Pinned::of(checkout, SOURCES, "linters")?,
            node: Node::provide(checkout, interrupt)?,
            promtool,
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

/// Installs systemd's tools on Debian.
fn provide_systemd(interrupt: &Interrupt) -> Result<()> {
    if find_all("systemd-analyze").is_empty() {
        debian::install(&["systemd"], interrupt)?;
    }
    Ok(())
}
