//! Redis, without persistence: it only has rate-limit counters.

use std::fs;
use std::io::{Read, Write};
use std::path::Path;

use anyhow::Result;

use super::ANSWER_LIMIT;
use super::start::Start;
use super::version::Version;
use crate::http::connect;
use crate::pids::StopSignal;
use crate::process::in_own_session;

pub const NAME: &str = "redis";
pub(super) const OLDEST: Version = Version::new(7, 0);

pub(super) fn url(port: u16) -> String {
    format!("redis://127.0.0.1:{port}/0")
}

/// Starts it on this port, empty, and returns once it answers.
pub(super) fn launch(program: &Path, port: u16, start: &mut Start<'_>) -> Result<()> {
    let dir = start.area.dir.join(NAME);
    fs::create_dir_all(&dir)?;

    let mut command = in_own_session(program);
    command.args(["--bind", "127.0.0.1", "--port", &port.to_string()]);
    command.args(["--save", "", "--appendonly", "no", "--daemonize", "no"]);
    command.arg("--dir").arg(dir);
    start.launch(NAME, command, StopSignal::Term, || answers(port).unwrap_or(false))
}

fn answers(port: u16) -> Result<bool> {
    let mut stream = connect(port, ANSWER_LIMIT)?;
    stream.write_all(b"PING\r\n")?;
    let mut answer = [0_u8; 5];
    stream.read_exact(&mut answer)?;
    Ok(&answer == b"+PONG")
}
