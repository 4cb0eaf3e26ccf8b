//! Schemas and linters, pinned in `xtask/deploy`.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use anyhow::Result;
use harness::area::Checkout;
use harness::interrupt::Interrupt;
use harness::python;
use harness::servers::{debian, nats};

use crate::node::Node;

const SOURCES: &str = "xtask/deploy";
/// Is copied beside the packages it imports.
pub(super) const CUSTOM_RESOURCES: &str = "custom-resources.mjs";

pub(super) struct Linters {
    node: Node,
    /// The directory with `node_modules`.
    packages: PathBuf,
    /// Programs of Python's environment.
    python_bin: PathBuf,
    /// The server that the tests run.
    pub(super) nats: PathBuf,
}

impl Linters {
    pub(super) fn provide(checkout: &Checkout, interrupt: &Interrupt) -> Result<Self> {
        debian::try_install("systemd-analyze", "systemd", interrupt);
        debian::try_install("promtool", "prometheus", interrupt);
        let node = Node::provide(checkout, interrupt)?;
        let packages = node.packages(checkout, SOURCES, interrupt)?;
        let custom_resources = checkout.root.join(SOURCES).join(CUSTOM_RESOURCES);
        fs::copy(custom_resources, packages.join(CUSTOM_RESOURCES))?;
        Ok(Self {
            node,
            packages,
            python_bin: python::provide(checkout, SOURCES, interrupt)?.join("bin"),
            nats: nats::find_or_fetch(checkout, interrupt)?,
        })
    }

    /// A program of the Python environment.
    pub(super) fn python(&self, program: &str) -> Command {
        Command::new(self.python_bin.join(program))
    }

    /// remark's plugin, by its path.
    pub(super) fn link_checker(&self) -> String {
        let plugin = self.packages.join("node_modules/remark-validate-links/index.js");
        format!("{}=repository:false", plugin.display())
    }

    /// A script below the pinned packages, run by Node.
    pub(super) fn javascript(&self, script: &str) -> Command {
        let mut command = Command::new(&self.node.program);
        command
            .current_dir(&self.packages)
            .arg(self.packages.join(script));
        command
    }
}
