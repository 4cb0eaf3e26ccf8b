//! Starting a server.

use std::process::Command;
use std::time::Duration;

use anyhow::{Result, ensure};

use crate::area::Area;
use crate::interrupt::Interrupt;
use crate::ports::Ports;
use crate::process::Running;
use crate::progress::Step;

const LIMIT: Duration = Duration::from_mins(1);

pub(super) struct Start<'a> {
    pub(super) area: &'a Area,
    pub(super) ports: Ports,
    running: &'a mut Running,
    interrupt: &'a Interrupt,
}

impl<'a> Start<'a> {
    pub(super) fn of(area: &'a Area, running: &'a mut Running, interrupt: &'a Interrupt) -> Result<Self> {
        Ok(Self {
            area,
            ports: Ports::of(area)?,
            running,
            interrupt,
        })
    }

    /// Starts a server on a port of the area; returns the port once the server answers.
    pub(super) fn on_its_port(
        &mut self,
        name: &str,
        title: &str,
        launch: impl FnOnce(u16, &mut Self) -> Result<()>,
    ) -> Result<u16> {
        let port = self.ports.choose(name, None)?;
        let step = Step::start(format_args!("Starting {title} on 127.0.0.1:{port}"));
        launch(port, self)?;
        step.done(format_args!("{title} answers"));
        Ok(port)
    }

    /// Returns once the server answers.
    pub(super) fn launch(
        &mut self,
        name: &'static str,
        command: Command,
        mut answers: impl FnMut() -> bool,
    ) -> Result<()> {
        let log = self.area.log(name);
        self.running.start(name, command, log.clone())?;
        let ready = self.interrupt.wait_until(LIMIT, || {
            self.running.check()?;
            Ok(answers())
        })?;
        ensure!(ready, "{name} does not answer; its log is {}", log.display());
        Ok(())
    }
}
