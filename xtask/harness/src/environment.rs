//! Servers of one command, in its own area, which start empty.

use std::fs::File;

use anyhow::Result;

use crate::area::{Area, Checkout};
use crate::interrupt::Interrupt;
use crate::process::Running;
use crate::servers::{Servers, provide};
use crate::stop::start_empty;

#[derive(Debug)]
pub struct Environment {
    pub running: Running,
    pub servers: Servers,
    pub area: Area,
    /// Released last.
    pub lock: File,
}

impl Environment {
    pub fn start(checkout: &Checkout, area: Area, interrupt: &Interrupt) -> Result<Self> {
        let lock = area.lock()?;
        start_empty(&area)?;
        let mut running = Running::none(&area)?;
        let servers = provide(checkout, &area, &mut running, interrupt)?;
        Ok(Self {
            running,
            servers,
            area,
            lock,
        })
    }
}
