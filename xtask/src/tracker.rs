//! The browser script's tests in Chromium: against a mock of the service, which can fail on demand, then against the service.

use std::path::PathBuf;
use std::process::Command;

use anyhow::Result;
use harness::area::Checkout;
use harness::interrupt::Interrupt;
use harness::process;
use harness::progress::Step;

use crate::web::{NodePackage, chromium};
use crate::whole_service::WholeService;

pub(crate) struct Tracker {
    package: NodePackage,
    chromium: PathBuf,
}

impl Tracker {
    /// Installs its packages and a browser if needed.
    pub(crate) fn provide(checkout: &Checkout, interrupt: &Interrupt) -> Result<Self> {
        Ok(Self {
            package: NodePackage::provide(checkout, "web/tracker", interrupt)?,
            chromium: chromium(interrupt)?,
        })
    }

    pub(crate) fn check_alone(&self, interrupt: &Interrupt) -> Result<()> {
        let step = Step::start("Testing the browser script");
        process::run(&mut self.command()?, interrupt)?;
        step.done("passed");
        Ok(())
    }

    pub(crate) fn check_with(&self, service: &WholeService, interrupt: &Interrupt) -> Result<()> {
        let step = Step::start("Testing the browser script with the service");
        let mut command = self.command()?;
        command
            .envs(service.demo_env.iter())
            .env("TRACKER_API", service.ingest.url());
        process::run(&mut command, interrupt)?;
        step.done("passed");
        Ok(())
    }

    fn command(&self) -> Result<Command> {
        let mut command = self.package.script("test", &[])?;
        command.env_remove("TRACKER_API").env("CHROMIUM", &self.chromium);
        Ok(command)
    }
}
