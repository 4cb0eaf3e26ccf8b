//! Provides PostgreSQL, Redis and NATS for one area.
//!
//! A server whose address is in the environment is used as it is. The others are looked for on the machine,
//! and missing ones are installed. If one is still missing, the command fails with instructions, before
//! anything is started.

pub mod debian;
pub mod nats;
pub mod postgres;
pub mod redis;
mod start;
pub mod version;

use std::env;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result, bail};

use self::postgres::Postgres;
use self::start::Start;
use crate::area::{Area, Checkout};
use crate::interrupt::Interrupt;
use crate::ports::Ports;
use crate::process::Running;
use crate::progress::note;

/// Of a server that is asked whether it is there.
const ANSWER_LIMIT: Duration = Duration::from_secs(1);

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
    let External {
        database,
        nats,
        redis,
    } = External::from_env(checkout)?;
    let install = |package| debian::install(&[package], interrupt);
    let find_postgres = || Postgres::find(area);
    let postgres = find_or_install("PostgreSQL", database.is_none(), find_postgres, || {
        install("postgresql")
    })?;
    let find_redis = || Ok(redis::OLDEST.find_program("redis-server"));
    let redis_server = find_or_install("Redis", redis.is_none(), find_redis, || install("redis-server"))?;
    let find_nats = || nats::find(checkout);
    let nats_server = find_or_install("NATS", nats.is_none(), find_nats, || {
        nats::find_or_fetch(checkout, interrupt).map(drop)
    })?;

    let mut start = Start::of(area, running, interrupt)?;
    Ok(Servers {
        database_url: address("PostgreSQL", database, postgres.as_ref(), |postgres| {
            postgres.start(&mut start)
        })?,
        redis_url: address("Redis", redis, redis_server.as_ref(), |program| {
            let launch = |port, start: &mut Start<'_>| redis::launch(program, port, start);
            start.on_its_port(redis::NAME, "Redis", launch).map(redis::url)
        })?,
        nats_url: address("NATS", nats, nats_server.as_ref(), |program| {
            let launch = |port, start: &mut Start<'_>| nats::launch(program, port, start);
            start.on_its_port(nats::NAME, "NATS", launch).map(nats::url)
        })?,
        postgres,
        nats: nats_server,
        redis: redis_server,
    })
}

/// A server's program; one that is needed and missing is installed. Fails, with instructions, if it is missing then.
fn find_or_install<P>(
    server: &str,
    is_needed: bool,
    find: impl Fn() -> Result<Option<P>>,
    install: impl FnOnce() -> Result<()>,
) -> Result<Option<P>> {
    let found = find()?;
    if found.is_some() || !is_needed {
        return Ok(found);
    }
    install().with_context(|| explain(server))?;
    find()?.map(Some).with_context(|| explain(server))
}

/// The address in the environment, otherwise that of the server, which is started.
fn address<P>(
    server: &str,
    external: Option<String>,
    program: Option<&P>,
    start: impl FnOnce(&P) -> Result<String>,
) -> Result<String> {
    if let Some(url) = external {
        note(format_args!("{server}: the address in the environment"));
        return Ok(url);
    }
    start(program.with_context(|| explain(server))?)
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
        (postgres::NAME, Some(postgres), _, _) => postgres.launch(postgres::NAME, port, &mut start),
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
