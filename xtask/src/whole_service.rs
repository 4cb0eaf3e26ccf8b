//! A fresh service on the tests' servers, with a demo program and its history, for checks that call it from outside.

use std::fs;

use anyhow::{Context, Result};
use harness::area::{Area, remove};
use harness::env_file::EnvFile;
use harness::environment::Environment;
use harness::http::Answer;
use harness::keys::{self, random_hex};
use harness::process;
use harness::servers::Servers;
use harness::servers::postgres::{Postgres, with_database};
use harness::services::{self, INGEST, Service, ctl};
use serde_json::{Value, json};

use crate::demo;
use crate::dev_servers::{DevServers, secrets_file};

pub(crate) struct WholeService {
    pub(crate) ingest: Service,
    /// The page of what is sent by e-mail.
    pub(crate) mail_url: String,
    /// The page of what is sent to the demo's webhook endpoint.
    pub(crate) receiver_url: String,
    /// Variables that `ctl seed-demo` printed, such as `DEMO_API_KEY`.
    pub(crate) demo_env: EnvFile,
    pub(crate) postgres: Postgres,
    pub(crate) database_url: String,
}

impl WholeService {
    pub(crate) fn demo(&self, name: &str) -> Result<&str> {
        self.demo_env
            .get(name)
            .with_context(|| format!("no {name} was seeded"))
    }

    /// Records a click of the demo program; returns its click_id.
    pub(crate) fn click(&self) -> Result<String> {
        let code = self.demo("DEMO_AFF_A")?;
        let body = json!({ "affiliate_url": format!("https://shop.example/?aff={code}") });
        let answer = self.post("click", &body)?.succeeded()?;
        let click_id = answer.get("click_id").and_then(Value::as_str);
        click_id
            .map(str::to_owned)
            .with_context(|| format!("no click_id in {answer}"))
    }

    /// Sends a tracking request with the demo program's key.
    pub(crate) fn post(&self, noun: &str, body: &Value) -> Result<Answer> {
        let key = self.demo("DEMO_API_KEY")?;
        self.ingest
            .ask("POST", &format!("/api/v1/track/{noun}"), Some(key), body)
    }
}

/// Starts one on its own database, and drops the database after `checks`.
pub(crate) fn with_whole_service(
    environment: &mut Environment<'_>,
    checks: impl FnOnce(&WholeService) -> Result<()>,
) -> Result<()> {
    with_whole_services(1, environment, |service, _| checks(service))
}

/// The same with as many as asked for, each on a database of its own: `checks` gets the first, and all.
pub(crate) fn with_whole_services(
    count: usize,
    environment: &mut Environment<'_>,
    checks: impl FnOnce(&WholeService, &[WholeService]) -> Result<()>,
) -> Result<()> {
    let databases = (0..count)
        .map(|_| Ok(format!("whole_{}", random_hex::<8>()?)))
        .collect::<Result<Vec<_>>>()?;
    let started: Result<Vec<_>> = databases
        .iter()
        .enumerate()
        .map(|(number, database)| start(environment, number, database))
        .collect();
    let checked = started.and_then(|services| {
        let first = services.first().context("no service was started")?;
        checks(first, &services)
    });
    // The server may be external: the databases are dropped also after a failure.
    let servers = &environment.servers;
    let postgres = psql_of(servers)?;
    let dropped = databases.iter().try_for_each(|database| {
        let drop = format!("DROP DATABASE IF EXISTS {database} WITH (FORCE)");
        postgres.query(&servers.database_url, &drop).map(std::mem::drop)
    });
    checked.and(dropped)
}

fn psql_of(servers: &Servers) -> Result<&Postgres> {
    let postgres = servers.postgres.as_ref();
    postgres.context("checks of the running service need psql on this machine")
}

/// The environment of services on their own database and streams, without rate limits.
fn service_env(area: &Area, servers: &Servers, database_url: &str, prefix: &str) -> Result<EnvFile> {
    let mut env = keys::read_or_create(area)?;
    env.set_all(servers.urls());
    env.set("DATABASE_URL", database_url);
    env.set("STREAM_PREFIX", prefix);
    env.set("STREAM_MAX_BYTES", (64 << 20).to_string());
    for limit in [
        "CLICK_LIMIT",
        "LEAD_LIMIT",
        "BROWSER_LEAD_LIMIT",
        "KEYLESS_TEST_LIMIT",
        "SALE_REFUND_LIMIT",
        "READINESS_LIMIT",
        "CLI_LIMIT",
        "CHAIN_LIMIT",
        "SIGN_IN_LIMIT",
        "MANAGEMENT_LIMIT",
        "UNKNOWN_TOKEN_LIMIT",
    ] {
        env.set(limit, "1000000");
    }
    Ok(env)
}

/// Creates the database, migrates, seeds, starts and creates the history.
fn start(environment: &mut Environment<'_>, number: usize, database: &str) -> Result<WholeService> {
    let Environment {
        checkout,
        interrupt,
        running,
        servers,
        area,
        ..
    } = environment;
    // Logs, ports and keys of one set of services.
    let area = Area::at(area.dir.join(format!("service-{number}")));
    remove(&area.logs())?;
    fs::create_dir_all(area.logs())?;
    let postgres = psql_of(servers)?;
    postgres.create_database(&servers.database_url, database)?;
    let database_url = with_database(&servers.database_url, database)?;
    remove(&secrets_file(&area))?;
    let beside = DevServers::start(checkout, &area, running)?;
    let mut env = service_env(&area, servers, &database_url, database)?;
    beside.configure(&mut env);
    process::output(ctl(checkout, &env).arg("migrate"))?;
    let seeded = process::output(ctl(checkout, &env).args(demo::SEED_WITH_HISTORY))?;
    let demo = EnvFile::parse(&seeded);
    let ctl = || {
        let mut ctl = ctl(checkout, &env);
        ctl.envs(demo.iter());
        ctl
    };
    let services = services::start(checkout, &area, &env, running)?;
    services::wait_until_ready(&services, &area, running, interrupt)?;
    let ingest = services
        .into_iter()
        .find(|service| service.name == INGEST)
        .context("the ingest is missing")?;
    demo::connect(&ingest, &demo, &beside)?;
    demo::create_history(&mut ctl(), &ingest, &demo)?;
    process::output(ctl().arg("verify")).context("the demo violates invariants")?;
    Ok(WholeService {
        ingest,
        mail_url: beside.mail_url,
        receiver_url: beside.receiver_url,
        demo_env: demo,
        postgres: postgres.clone(),
        database_url,
    })
}
