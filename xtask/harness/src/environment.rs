//! Servers of one command, in its own area, which start empty.

use std::fs::File;

use anyhow::Result;

use crate::area::{Area, Checkout};
use crate::interrupt::Interrupt;
use crate::process::Running;
use crate::servers::{Servers, provide};
use crate::stop::start_empty;

#[derive(Debug)]
pub struct Environment<'a> {
    pub checkout: &'a Checkout,
    pub interrupt: &'a Interrupt,
    pub running: Running,
    pub servers: Servers,
    pub area: Area,
    /// Released last.
    pub lock: File,
}

impl<'a> Environment<'a> {
    pub fn start(checkout: &'a Checkout, area: Area, interrupt: &'a Interrupt) -> Result<Self> {
        let lock = area.lock()?;
        start_empty(&area)?;
        let mut running = Running::none(&area)?;
        let servers = provide(checkout, &area, &mut running, interrupt)?;
        Ok(Self {
            checkout,
            interrupt,
            running,
            servers,
            area,
            lock,
        })
    }
}
