//! Loopback ports, stored so that addresses stay the same at the next start.

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, TcpListener};
use std::path::PathBuf;

use anyhow::{Context, Result};

use crate::area::Area;
use crate::env_file::EnvFile;

#[derive(Debug)]
pub struct Ports {
    path: PathBuf,
    remembered: EnvFile,
    /// What this instance has chosen ports for, so that none is given twice.
    given: BTreeMap<String, u16>,
}

impl Ports {
    pub fn of(area: &Area) -> Result<Self> {
        Ok(Self {
            path: area.ports(),
            remembered: EnvFile::read(&area.ports())?,
            given: BTreeMap::new(),
        })
    }

    pub fn remembered(&self, name: &str) -> Option<u16> {
        self.remembered.get(name)?.parse().ok()
    }

    /// The port that was chosen before; the stored one if free, otherwise the preferred one, otherwise any.
    pub fn choose(&mut self, name: &str, preferred: Option<u16>) -> Result<u16> {
        if let Some(port) = self.given.get(name) {
            return Ok(*port);
        }
        let port = self
            .remembered(name)
            .into_iter()
            .chain(preferred)
            .find(|port| !self.is_given(*port) && is_free(*port))
            .map_or_else(|| self.any(), Ok)?;
        self.given.insert(name.to_owned(), port);
        self.remembered.set(name, port.to_string());
        self.remembered.write(&self.path)?;
        Ok(port)
    }

    fn is_given(&self, port: u16) -> bool {
        self.given.values().any(|given| *given == port)
    }

    fn any(&self) -> Result<u16> {
        // One attempt more than there are ports to avoid.
        let tries = (0..=self.given.len())
            .filter_map(|_| TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).ok())
            .collect::<Vec<_>>();
        tries
            .iter()
            .filter_map(|listener| listener.local_addr().ok())
            .map(|address| address.port())
            .find(|port| !self.is_given(*port))
            .context("no free port on 127.0.0.1")
    }
}

fn is_free(port: u16) -> bool {
    TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_ok()
}
