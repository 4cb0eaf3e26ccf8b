//! NATS with `JetStream`, which syncs every message before its acknowledgement where the area's data is to
//! outlive a power cut.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Result;

use super::start::Start;
use super::version::Version;
use crate::area::Checkout;
use crate::http::connect;
use crate::interrupt::Interrupt;
use crate::process::in_own_session;
use crate::python;

pub const NAME: &str = "nats";
/// Older servers have no `sync_interval: always` and hang on a full disk.
pub(super) const OLDEST: Version = Version::new(2, 12);
/// Pins a wheel of the server.
const PINS: &str = "xtask/nats";
/// In the environment of the wheel.
const PROGRAM: &str = "bin/nats-server";
const ANSWER_LIMIT: Duration = Duration::from_secs(1);

/// The machine's, otherwise one that was fetched: distributions ship servers that are too old.
pub(super) fn find(checkout: &Checkout) -> Result<Option<PathBuf>> {
    let fetched = python::place_of(checkout, PINS)?.join(PROGRAM);
    let of_machine = OLDEST.find_program("nats-server");
    Ok(of_machine.or_else(|| fetched.is_file().then_some(fetched)))
}

/// Fetches the pinned one if there is none.
pub fn find_or_fetch(checkout: &Checkout, interrupt: &Interrupt) -> Result<PathBuf> {
    match find(checkout)? {
        Some(found) => Ok(found),
        None => Ok(python::provide(checkout, PINS, interrupt)?.join(PROGRAM)),
    }
}

pub fn url(port: u16) -> String {
    format!("nats://127.0.0.1:{port}")
}

/// Starts it on a port of the area; returns its address once it answers.
pub(super) fn start(program: &Path, start: &mut Start<'_>) -> Result<String> {
    let launch = |port, start: &mut Start<'_>| launch(program, port, start);
    start.on_its_port(NAME, "NATS", launch).map(url)
}

/// Starts it on this port and the area's data, and returns once it answers.
pub(super) fn launch(program: &Path, port: u16, start: &mut Start<'_>) -> Result<()> {
    let dir = start.area.dir.join(NAME);
    fs::create_dir_all(&dir)?;
    let config = dir.join("nats.conf");
    fs::write(&config, config_text(port, &dir, start.area.waits_for_disk))?;

    let mut command = in_own_session(program);
    command.arg("--config").arg(config);
    start.launch(NAME, command, || has_jetstream(port).unwrap_or(false))
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
    let mut greeting = String::new();
    BufReader::new(connect(port, ANSWER_LIMIT)?).read_line(&mut greeting)?;
    Ok(greeting.starts_with("INFO ") && greeting.contains("\"jetstream\":true"))
}
