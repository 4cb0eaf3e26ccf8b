//! A standby, in an area of its own, that streams from another area's server.

use std::fs;
use std::process::Command;

use anyhow::{Context, Result};

use super::home::{Account, Home, run_as};
use super::{DATABASE, Postgres, url_of};
use crate::area::{Area, remove};
use crate::interrupt::Interrupt;
use crate::process::{self, Running};
use crate::servers::start::Start;

/// The name of its process.
pub const STANDBY: &str = "standby";

impl Postgres {
    /// Copies the running server of `primary`, whose address is `url`, and starts the copy as its standby.
    /// Returns the standby's address once it answers.
    pub fn start_standby(
        &self,
        (primary, url): (&Area, &str),
        standby: &Area,
        running: &mut Running,
        interrupt: &Interrupt,
    ) -> Result<String> {
        fs::create_dir_all(standby.logs())?;
        let account = Account::for_server()?;
        let home = Home::prepare(standby, account.as_ref())?;
        let original = Home::existing(primary).context("there is no cluster to copy")?;
        fs::copy(original.password_file(), home.password_file())?;
        remove(&home.data())?;
        let mut copy = Command::new(self.bin_dir.join("pg_basebackup"));
        copy.args([
            "--checkpoint=fast",
            "--write-recovery-conf",
            "--no-sync",
            "-d",
            url,
            "-D",
        ])
        .arg(home.data());
        process::output(run_as(&mut copy, account.as_ref()).current_dir(&home.dir))?;
        let mut start = Start::of(standby, running, interrupt)?;
        let port = start.ports.choose(STANDBY, None)?;
        self.launch(STANDBY, port, &mut start)?;
        Ok(url_of(&home.password()?, port, DATABASE))
    }
}

/// Replaces an area's cluster by that of a promoted standby. Neither may run.
pub fn replace(area: &Area, standby: &Area) -> Result<()> {
    let home = Home::existing(area).context("there is no cluster to replace")?;
    let promoted = Home::existing(standby).context("there is no cluster to replace it by")?;
    remove(&home.data())?;
    process::output(
        Command::new("cp")
            .arg("--archive")
            .arg(promoted.data())
            .arg(home.data()),
    )?;
    remove(&promoted.data())
}
