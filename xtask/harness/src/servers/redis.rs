//! Redis, without persistence: it only has rate-limit counters.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::time::Duration;

use anyhow::Result;

use super::start::Start;
use super::version::Version;
use crate::http::connect;
use crate::process::in_own_session;

pub const NAME: &str = "redis";
const COMMAND_LIMIT: Duration = Duration::from_secs(10);
pub(super) const OLDEST: Version = Version::new(7, 0);

pub(super) fn url(port: u16) -> String {
    format!("redis://127.0.0.1:{port}/0")
}

/// Starts it on a port of the area; returns its address once it answers.
pub(super) fn start(program: &Path, start: &mut Start<'_>) -> Result<String> {
    let launch = |port, start: &mut Start<'_>| launch(program, port, start);
    start.on_its_port(NAME, "Redis", launch).map(url)
}

/// Starts it on this port, empty, and returns once it answers.
pub(super) fn launch(program: &Path, port: u16, start: &mut Start<'_>) -> Result<()> {
    let dir = start.area.dir.join(NAME);
    fs::create_dir_all(&dir)?;

    let mut command = in_own_session(program);
    command.args(["--bind", "127.0.0.1", "--port", &port.to_string()]);
    command.args(["--save", "", "--appendonly", "no", "--daemonize", "no"]);
    command.arg("--dir").arg(dir);
    start.launch(NAME, command, || {
        ask(port, "PING").is_ok_and(|answer| answer == "+PONG")
    })
}

/// The first line of the answer to a command.
pub fn ask(port: u16, command: &str) -> Result<String> {
    let mut stream = connect(port, COMMAND_LIMIT)?;
    write!(stream, "{command}\r\n")?;
    let mut answer = String::new();
    BufReader::new(stream).read_line(&mut answer)?;
    Ok(answer.trim_end().to_owned())
}
