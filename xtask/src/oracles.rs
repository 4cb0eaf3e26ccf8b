//! Stripe's own libraries and those of Standard Webhooks, which the tests compare our signatures with, and a mail server that speaks TLS: pinned in
//! `ingest/tests/oracles`, passed by environment variables.

use std::path::PathBuf;
use std::process::Command;

use anyhow::Result;
use harness::area::Checkout;
use harness::interrupt::Interrupt;
use harness::python;

use crate::node::Node;

const PINS: &str = "ingest/tests/oracles";

pub(crate) struct Oracles {
    pub(crate) node: Node,
    pub(crate) node_modules: PathBuf,
    pub(crate) python: PathBuf,
}

impl Oracles {
    pub(crate) fn provide(checkout: &Checkout, interrupt: &Interrupt) -> Result<Self> {
        let node = Node::provide(checkout, interrupt)?;
        Ok(Self {
            node_modules: node.packages(checkout, PINS, interrupt)?.join("node_modules"),
            python: python::provide(checkout, PINS, interrupt)?.join("bin/python"),
            node,
        })
    }

    pub(crate) fn export(&self, command: &mut Command) {
        command
            .env("RT_NODE", &self.node.program)
            .env("RT_STRIPE_NODE_MODULES", &self.node_modules)
            .env("RT_STRIPE_PYTHON", &self.python);
    }
}
