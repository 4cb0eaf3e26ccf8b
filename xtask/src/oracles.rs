//! Stripe's own libraries and those of Standard Webhooks, which the tests compare our signatures with, and a mail server that speaks TLS: pinned in
//! `ingest/tests/oracles`, passed by environment variables.

use std::path::PathBuf;
use std::process::Command;

use anyhow::Result;
use harness::area::Checkout;
use harness::interrupt::Interrupt;
use harness::process;

use crate::node::Node;
use crate::pinned::Pinned;

pub(crate) struct Oracles {
    pub(crate) node: Node,
    pub(crate) node_modules: PathBuf,
    pub(crate) python: PathBuf,
}

impl Oracles {
    pub(crate) fn export(&self, command: &mut Command) {
        command
            .env("RT_NODE", &self.node.program)
            .env("RT_STRIPE_NODE_MODULES", &self.node_modules)
            .env("RT_STRIPE_PYTHON", &self.python);
    }

    fn work(&self) -> bool {
        let mut javascript = Command::new(&self.node.program);
        javascript
            .env("NODE_PATH", &self.node_modules)
            .args(["-e", "require('stripe'); require('standardwebhooks')"]);
        let mut python = Command::new(&self.python);
        python.args(["-c", "import aiosmtpd, standardwebhooks, stripe"]);
        process::output(&mut javascript).is_ok() && process::output(&mut python).is_ok()
    }
}

pub(crate) fn provide(checkout: &Checkout, interrupt: &Interrupt) -> Result<Oracles> {
    let pinned = Pinned::of(checkout, "ingest/tests/oracles", "stripe")?;
    let oracles = Oracles {
        node: Node::provide(checkout, interrupt)?,
        node_modules: pinned.node_modules(),
        python: pinned.python("python"),
    };
    pinned.install(
        "Libraries of Stripe and of Standard Webhooks, which signatures are compared with, and a mail server",
        &oracles.node,
        || oracles.work(),
        interrupt,
    )?;
    Ok(oracles)
}
