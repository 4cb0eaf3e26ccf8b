//! The running service against its own description: Schemathesis sends what `/openapi.json` allows and what it
//! forbids, and checks every answer.
//!
//! In this order: Schemathesis in a Python environment of its own under the target directory; a database of its own;
//! the services; one customer, so that the examples of the description reach a recorded sale and not only refusals; an
//! owner who is signed in, as whom the management operations are called; then the run, with a fixed seed and bounded examples, so that it finds the same today and tomorrow.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, ensure};

use crate::area::{Area, Checkout};
use crate::env_file::EnvFile;
use crate::interrupt::Interrupt;
use crate::keys::{self, random_hex};
use crate::process::{self, Running};
use crate::progress::Step;
use crate::python;
use crate::servers::Servers;
use crate::servers::postgres::Postgres;
use crate::services::{self, INGEST, Service};
use crate::sqlx::with_database;

const SCHEMATHESIS: &str = "schemathesis==4.32.5";
const SEED: &str = "20261121";
const EXAMPLES_EACH: &str = "60";
const ANSWER_LIMIT: Duration = Duration::from_secs(10);

/// Of somebody in a database that is thrown away.
const SESSION: &str = "affs_1fJjkkpe9PiTw9KSulA8Ghct30vZz4HpdQ5c5b9cPF14bQ73M";
/// The one that is signed out.
const SESSION_TO_END: &str = "affs_1u4qI0Nb1txh4SNOBj2isW90uaUNPVTEj3FGxXbZ2HA0yIxJh";

/// The customer of the description's examples.
const CUSTOMER_KEY: &str = "user-42";

/// Fails when an answer is not what the description says.
pub(crate) fn check(
    checkout: &Checkout,
    area: &Area,
    servers: &Servers,
    running: &mut Running,
    interrupt: &Interrupt,
) -> Result<()> {
    let schemathesis = provide(checkout, interrupt)?;
    let postgres = servers
        .postgres
        .as_ref()
        .context("the check of the API's description needs psql on this machine")?;
    let database = format!("conformance_{}", random_hex::<8>()?);
    postgres.create_database(&servers.database_url, &database)?;
    let url = with_database(&servers.database_url, &database)?;
    let env = service_env(area, servers, &url, &database)?;
    let checked = start(checkout, area, &env, running, interrupt).and_then(|(ingest, demo)| {
        make_owner(checkout, postgres, &url)?;
        run(&schemathesis, checkout, &ingest, &demo, interrupt)
    });
    // The server may be somebody else's: nothing of ours stays there, also after a failure.
    let dropped = postgres.query(
        &servers.database_url,
        &format!("DROP DATABASE {database} WITH (FORCE)"),
    );
    checked?;
    dropped.map(|_| ())
}

/// The pinned Schemathesis, installed once for a target directory.
fn provide(checkout: &Checkout, interrupt: &Interrupt) -> Result<PathBuf> {
    let environment = checkout.target_dir().join(SCHEMATHESIS.replace("==", "-"));
    let program = environment.join("bin/schemathesis");
    let marker = environment.join("complete");
    // Run once, not only looked at: an environment that was moved with its target directory no longer starts.
    let runs = || process::output(Command::new(&program).arg("--version")).is_ok();
    if marker.is_file() && runs() {
        return Ok(program);
    }
    let step = Step::start(format_args!("Installing {SCHEMATHESIS}"));
    python::make_environment(&environment, &[SCHEMATHESIS], interrupt)?;
    // An installation that was cut short has the program, but not all it needs.
    std::fs::write(marker, "")?;
    step.done("installed");
    Ok(program)
}

fn service_env(area: &Area, servers: &Servers, database_url: &str, prefix: &str) -> Result<EnvFile> {
    let mut env = keys::read_or_create(area)?;
    env.set_all(servers.urls());
    env.set("DATABASE_URL", database_url);
    env.set("STREAM_PREFIX", prefix);
    env.set("STREAM_MAX_BYTES", (64 << 20).to_string());
    for limit in [
        "CLICK_LIMIT",
        "LEAD_LIMIT",
        "SALE_REFUND_LIMIT",
        "READINESS_LIMIT",
        "CLI_LIMIT",
        "CHAIN_LIMIT",
        "SIGN_IN_LIMIT",
    ] {
        env.set(limit, "1000000");
    }
    Ok(env)
}

/// Migrates, seeds and starts; returns the ingest and the demo program's variables.
fn start(
    checkout: &Checkout,
    area: &Area,
    env: &EnvFile,
    running: &mut Running,
    interrupt: &Interrupt,
) -> Result<(Service, EnvFile)> {
    let ctl = |command: &str| {
        let mut ctl = Command::new(checkout.bin_dir.join("ctl"));
        ctl.env_remove("DEMO_API_KEY").envs(env.iter()).arg(command);
        process::output(&mut ctl)
    };
    ctl("migrate")?;
    let demo = EnvFile::parse(&ctl("seed-demo")?);
    let services = services::start(checkout, area, env, running)?;
    services::wait_until_ready(&services, area, running, interrupt)?;
    let ingest = services
        .into_iter()
        .find(|service| service.name == INGEST)
        .context("the ingest is missing")?;
    Ok((ingest, demo))
}

fn run(
    schemathesis: &Path,
    checkout: &Checkout,
    ingest: &Service,
    demo: &EnvFile,
    interrupt: &Interrupt,
) -> Result<()> {
    let key = demo.get("DEMO_API_KEY").context("no key was seeded")?;
    let code = demo.get("DEMO_AFF_A").context("no link was seeded")?;
    make_customer(ingest, key, code)?;
    let step = Step::start("Checking the API against its description");
    let mut command = Command::new(schemathesis);
    command
        .env("SESSION", SESSION)
        .env("SESSION_TO_END", SESSION_TO_END)
        // Schemathesis leaves its memory of earlier runs where it is started.
        .current_dir(checkout.target_dir())
        .arg("--config-file")
        .arg(checkout.root.join("xtask/schemathesis.toml"))
        .arg("run")
        .arg(format!("{}/openapi.json", ingest.url()))
        .args(["--header", &format!("Authorization: Bearer {key}")])
        .args(["--seed", SEED, "--max-examples", EXAMPLES_EACH])
        .args(["--generation-database", "none", "--continue-on-failure"])
        .args(["--request-timeout", "20", "--suppress-health-check", "all"])
        .args(["--warnings", "off", "--no-color"]);
    process::run(&mut command, interrupt)?;
    step.done("every answer is as described");
    Ok(())
}

/// Somebody who is signed in, and has what the management operations are about.
fn make_owner(checkout: &Checkout, postgres: &Postgres, url: &str) -> Result<()> {
    let mut psql = postgres.psql(url);
    psql.args(["-v", &format!("session={SESSION}")])
        .args(["-v", &format!("session_to_end={SESSION_TO_END}")])
        .arg("-f")
        .arg(checkout.root.join("xtask/src/conformance.sql"));
    process::output(&mut psql).map(|_| ())
}

/// A click and a lead, so that sales for the examples' customer are recorded.
fn make_customer(ingest: &Service, key: &str, code: &str) -> Result<()> {
    let clicked = post(
        ingest,
        key,
        "click",
        &format!(r#"{{"affiliate_url":"https://shop.example/?aff={code}"}}"#),
    )?;
    let click_id = clicked
        .split_once(r#""click_id":""#)
        .and_then(|(_, rest)| rest.split('"').next())
        .with_context(|| format!("no click_id in {clicked}"))?;
    let lead = format!(r#"{{"click_id":"{click_id}","customer_key":"{CUSTOMER_KEY}"}}"#);
    post(ingest, key, "lead", &lead).map(|_| ())
}

/// The whole answer, which must be a 200.
fn post(ingest: &Service, key: &str, noun: &str, body: &str) -> Result<String> {
    let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, ingest.port))?;
    stream.set_read_timeout(Some(ANSWER_LIMIT))?;
    write!(
        stream,
        "POST /api/v1/track/{noun} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\nAuthorization: Bearer {key}\r\n\
         Content-Length: {}\r\n\r\n{body}",
        body.len()
    )?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    ensure!(answer.starts_with("HTTP/1.1 200"), "{noun} was refused: {answer}");
    Ok(answer)
}
