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

use anyhow::Context;
use anyhow::{Result, bail, ensure};

use self::postgres::Postgres;
use self::start::Start;
use crate::area::{Area, Checkout};
use crate::interrupt::{Interrupt, Interrupted};
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
    let needed = Needed {
        postgres: external.database.is_none(),
        redis: external.redis.is_none(),
        nats: external.nats.is_none(),
    };
    let found = find_or_install(checkout, area, &needed, interrupt)?;

    let mut ports = Ports::of(area)?;
    let mut start = Start {
        area,
        ports: &mut ports,
        running,
        interrupt,
    };
    let database_url = match (external.database, &found.postgres) {
        (Some(url), _) => given("PostgreSQL", url),
        (None, Some(postgres)) => postgres.start(&mut start)?,
        (None, None) => bail!(explain("PostgreSQL")),
    };
    let redis_url = match (external.redis, &found.redis) {
        (Some(url), _) => given("Redis", url),
        (None, Some(program)) => redis::start(program, &mut start)?,
        (None, None) => bail!(explain("Redis")),
    };
    let nats_url = match (external.nats, &found.nats) {
        (Some(url), _) => given("NATS", url),
        (None, Some(program)) => nats::start(program, &mut start)?,
        (None, None) => bail!(explain("NATS")),
    };
    Ok(Servers {
        database_url,
        nats_url,
        redis_url,
        postgres: found.postgres,
        nats: found.nats,
        redis: found.redis,
    })
}

/// Restarts a server of the area on its port and data, and returns once it answers.
pub fn start_again(
    name: &str,
    servers: &Servers,
    area: &Area,
    running: &mut Running,
    interrupt: &Interrupt,
) -> Result<()> {
    let mut ports = Ports::of(area)?;
    let port = ports
        .remembered(name)
        .with_context(|| format!("{name} has never been started here"))?;
    let mut start = Start {
        area,
        ports: &mut ports,
        running,
        interrupt,
    };
    match (name, &servers.postgres, &servers.nats, &servers.redis) {
        (postgres::NAME, Some(postgres), _, _) => postgres.launch(postgres::NAME, port, &mut start),
        (nats::NAME, _, Some(program), _) => nats::launch(program, port, &mut start),
        (redis::NAME, _, _, Some(program)) => redis::launch(program, port, &mut start),
        _ => bail!("{name} is not on this machine"),
    }
}

/// [`provide`] for `PostgreSQL` alone.
pub fn provide_postgres(
    checkout: &Checkout,
    area: &Area,
    running: &mut Running,
    interrupt: &Interrupt,
) -> Result<(Postgres, String)> {
    let external = External::from_env(checkout)?;
    let needed = Needed {
        postgres: true,
        redis: false,
        nats: false,
    };
    let Some(postgres) = find_or_install(checkout, area, &needed, interrupt)?.postgres else {
        bail!(explain("PostgreSQL"));
    };
    let mut ports = Ports::of(area)?;
    let url = match external.database {
        Some(url) => given("PostgreSQL", url),
        None => postgres.start(&mut Start {
            area,
            ports: &mut ports,
            running,
            interrupt,
        })?,
    };
    Ok((postgres, url))
}

struct Needed {
    postgres: bool,
    redis: bool,
    nats: bool,
}

struct Found {
    postgres: Option<Postgres>,
    redis: Option<PathBuf>,
    nats: Option<PathBuf>,
}

impl Found {
    fn on_this_machine(checkout: &Checkout, area: &Area) -> Result<Self> {
        Ok(Self {
            postgres: Postgres::find(area)?,
            redis: redis::find(),
            nats: nats::find(checkout),
        })
    }

    /// Fails, with instructions, if a needed server is missing.
    fn check(&self, needed: &Needed) -> Result<()> {
        for (server, is_missing) in [
            ("PostgreSQL", needed.postgres && self.postgres.is_none()),
            ("Redis", needed.redis && self.redis.is_none()),
            ("NATS", needed.nats && self.nats.is_none()),
        ] {
            ensure!(!is_missing, explain(server));
        }
        Ok(())
    }
}

fn find_or_install(
    checkout: &Checkout,
    area: &Area,
    needed: &Needed,
    interrupt: &Interrupt,
) -> Result<Found> {
    let found = Found::on_this_machine(checkout, area)?;
    let mut packages = Vec::new();
    if needed.postgres && found.postgres.is_none() {
        packages.push("postgresql");
    }
    if needed.redis && found.redis.is_none() {
        packages.push("redis-server");
    }
    if !packages.is_empty() {
        go_on_without(debian::install(&packages, interrupt))?;
    }
    if needed.nats && found.nats.is_none() {
        go_on_without(nats::fetch(checkout, interrupt))?;
    }
    let found = Found::on_this_machine(checkout, area)?;
    found.check(needed)?;
    Ok(found)
}

/// Prints a failed installation: a server that is still missing is reported later.
fn go_on_without(installed: Result<()>) -> Result<()> {
    match installed {
        Err(error) if !error.is::<Interrupted>() => {
            note(format_args!("{error:#}"));
            Ok(())
        }
        other => other,
    }
}

fn given(server: &str, url: String) -> String {
    note(format_args!("{server}: the address in the environment"));
    url
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
