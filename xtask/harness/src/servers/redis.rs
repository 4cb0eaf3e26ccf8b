//! Redis, without persistence: it only has rate-limit counters.

use std::fs;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Result;

use super::start::Start;
use super::version::Version;
use crate::pids::StopSignal;
use crate::process::{find_all, in_own_session};
use crate::progress::Step;

pub const NAME: &str = "redis";
pub(super) const OLDEST: Version = Version::new(7, 0);
const ANSWER_LIMIT: Duration = Duration::from_secs(1);

pub(super) fn find() -> Option<PathBuf> {
    find_all("redis-server")
        .into_iter()
        .find(|program| Version::of(program).is_some_and(|version| version >= OLDEST))
}

pub(super) fn url(port: u16) -> String {
    format!("redis://127.0.0.1:{port}/0")
}

pub(super) fn start(program: &Path, start: &mut Start<'_>) -> Result<String> {
    let port = start.ports.choose(NAME, None)?;
    let step = Step::start(format_args!("Starting Redis on 127.0.0.1:{port}"));
    launch(program, port, start)?;
    step.done("Redis answers");
    Ok(url(port))
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
    let mut stream =
        TcpStream::connect_timeout(&SocketAddr::from((Ipv4Addr::LOCALHOST, port)), ANSWER_LIMIT)?;
    stream.set_read_timeout(Some(ANSWER_LIMIT))?;
    stream.write_all(b"PING\r\n")?;
    let mut answer = [0_u8; 5];
    stream.read_exact(&mut answer)?;
    Ok(&answer == b"+PONG")
}
