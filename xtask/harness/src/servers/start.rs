//! Starting a server.

use std::process::Command;
use std::time::Duration;

use anyhow::{Result, ensure};

use crate::area::Area;
use crate::interrupt::Interrupt;
use crate::pids::StopSignal;
use crate::ports::Ports;
use crate::process::Running;

const LIMIT: Duration = Duration::from_mins(1);

pub(super) struct Start<'a> {
    pub(super) area: &'a Area,
    pub(super) ports: &'a mut Ports,
    pub(super) running: &'a mut Running,
    pub(super) interrupt: &'a Interrupt,
}

impl Start<'_> {
    /// Returns once the server answers.
    pub(super) fn launch(
        &mut self,
        name: &'static str,
        command: Command,
        signal: StopSignal,
        mut answers: impl FnMut() -> bool,
    ) -> Result<()> {
        let log = self.area.log(name);
        self.running.start(name, command, log.clone(), signal)?;
        let ready = self.interrupt.wait_until(LIMIT, || {
            self.running.check()?;
            Ok(answers())
        })?;
        ensure!(ready, "{name} does not answer; its log is {}", log.display());
        Ok(())
    }
}
