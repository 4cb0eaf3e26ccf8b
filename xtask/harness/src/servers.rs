//! Provides PostgreSQL, Redis and NATS for one area.
//!
//! A server whose address is in the environment is used as it is. The others are looked for on the machine,
//! and missing ones are installed. If one is still missing, the command fails with instructions.

pub mod debian;
pub mod nats;
pub mod postgres;
pub mod redis;
mod start;
pub mod version;

use std::env;
use std::path::PathBuf;

use anyhow::{Context, Result, bail};

use self::postgres::Postgres;
use self::start::Start;
use crate::area::{Area, Checkout};
use crate::interrupt::Interrupt;
use crate::ports::Ports;
use crate::process::Running;
use crate::progress::note;

/// Addresses of the servers, and their programs on this machine.
#[derive(Debug)]
pub struct Servers {
    pub database_url: String,
    pub nats_url: String,
    pub redis_url: String,
    /// `None` only with an external database and without `PostgreSQL` on this machine.
    pub postgres: Option<Postgres>,
    pub nats: Option<PathBuf>,
    pub redis: Option<PathBuf>,
}

impl Servers {
    /// As the services' variables.
    pub fn urls(&self) -> [(&'static str, &str); 3] {
        [
            ("DATABASE_URL", &self.database_url),
            ("NATS_URL", &self.nats_url),
            ("REDIS_URL", &self.redis_url),
        ]
    }
}

/// Addresses of external servers, from the environment.
#[derive(Debug)]
pub struct External {
    pub database: Option<String>,
    nats: Option<String>,
    redis: Option<String>,
}

impl External {
    pub fn from_env(checkout: &Checkout) -> Result<Self> {
        // A shell that has sourced `.dev/env` has the addresses of our own servers, which may be stopped.
        let ports = Ports::of(&checkout.dev_area())?;
        let given = |name: &str| env::var(name).ok().filter(|url| !url.is_empty());
        let postgres_port = ports.remembered(postgres::NAME);
        let nats_url = ports.remembered(nats::NAME).map(nats::url);
        let redis_url = ports.remembered(redis::NAME).map(redis::url);
        Ok(Self {
            database: given("DATABASE_URL")
                .filter(|url| !postgres_port.is_some_and(|port| postgres::is_ours(url, port))),
            nats: given("NATS_URL").filter(|url| Some(url) != nats_url.as_ref()),
            redis: given("REDIS_URL").filter(|url| Some(url) != redis_url.as_ref()),
        })
    }
}

/// Starts the servers that are not external, and returns once each answers.
pub fn provide(
    checkout: &Checkout,
    area: &Area,
    running: &mut Running,
    interrupt: &Interrupt,
) -> Result<Servers> {
    let external = External::from_env(checkout)?;
    let install = |package| debian::install(&[package], interrupt);
    let mut start = Start::of(area, running, interrupt)?;
    let (database_url, postgres) = provide_one(
        "PostgreSQL",
        external.database,
        || Postgres::find(area),
        || install("postgresql"),
        |postgres| postgres.start(&mut start),
    )?;
    let (redis_url, redis) = provide_one(
        "Redis",
        external.redis,
        || Ok(redis::OLDEST.find_program("redis-server")),
        || install("redis-server"),
        |program| redis::start(program, &mut start),
    )?;
    let (nats_url, nats) = provide_one(
        "NATS",
        external.nats,
        || nats::find(checkout),
        || nats::find_or_fetch(checkout, interrupt).map(drop),
        |program| nats::start(program, &mut start),
    )?;
    Ok(Servers {
        database_url,
        nats_url,
        redis_url,
        postgres,
        nats,
        redis,
    })
}

/// A server's address, and its program on this machine. Unless the server is external, it is started, and
/// installed if it is missing; fails, with instructions, if it is missing then.
fn provide_one<P>(
    server: &str,
    external: Option<String>,
    find: impl Fn() -> Result<Option<P>>,
    install: impl FnOnce() -> Result<()>,
    start: impl FnOnce(&P) -> Result<String>,
) -> Result<(String, Option<P>)> {
    let mut found = find()?;
    if let Some(url) = external {
        note(format_args!("{server}: the address in the environment"));
        return Ok((url, found));
    }
    if found.is_none() {
        install().with_context(|| explain(server))?;
        found = find()?;
    }
    let program = found.with_context(|| explain(server))?;
    Ok((start(&program)?, Some(program)))
}

/// Restarts a server of the area on its port and data, and returns once it answers.
pub fn start_again(
    name: &str,
    servers: &Servers,
    area: &Area,
    running: &mut Running,
    interrupt: &Interrupt,
) -> Result<()> {
    let mut start = Start::of(area, running, interrupt)?;
    let port = start
        .ports
        .remembered(name)
        .with_context(|| format!("{name} has never been started here"))?;
    match (name, &servers.postgres, &servers.nats, &servers.redis) {
        (postgres::NAME, Some(postgres), _, _) => postgres.launch(port, &mut start),
        (nats::NAME, _, Some(program), _) => nats::launch(program, port, &mut start),
        (redis::NAME, _, _, Some(program)) => redis::launch(program, port, &mut start),
        _ => bail!("{name} is not on this machine"),
    }
}

fn explain(server: &str) -> String {
    format!(
        "{server} is neither on this machine nor could it be installed here (wanted: PostgreSQL {}, Redis {}, NATS \
         {}, or newer).\nWith Docker, all three are one command away; deploy/README.md has the addresses to export:\n\
         \n    docker compose -f deploy/servers.yaml up --detach --wait\n",
        postgres::OLDEST,
        redis::OLDEST,
        nats::OLDEST,
    )
}
