//! Who judges: schemas and linters, pinned in `xtask/deploy`.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use anyhow::Result;
use harness::area::Checkout;
use harness::interrupt::Interrupt;
use harness::process;
use harness::servers::nats;

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
        super::provide_systemd(interrupt)?;
        super::package::provide(interrupt)?;
        let promtool = super::fetch_promtool(&checkout.target_dir().join("promtool"), interrupt)?;
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
