//! Installs the Debian package in a container made of this machine's files, beside PostgreSQL, Redis and NATS in their default
//! configuration: nothing may listen beyond loopback, and pgBackRest takes a backup that can be restored. `xtask/deploy/installed.sh` runs in the
//! container.
//!
//! cargo-deb builds a release's package from release programs. Here the same list of files is packed with the debug programs.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Result, bail, ensure};
use harness::area::{Checkout, remove};
use harness::cargo::cargo;
use harness::interrupt::Interrupt;
use harness::process::find_all;
use harness::servers::debian;
use harness::servers::postgres::is_root;

use super::linters::Linters;
use super::outcome::{Outcome, lint};

const MANIFEST: &str = "ctl/Cargo.toml";
const SCRIPT: &str = "xtask/deploy/installed.sh";
const PROGRAMS: &str = "target/release/";
/// Programs the script needs beyond those of every Debian.
const NEEDED: [&str; 6] = [
    "pg_createcluster",
    "pgbackrest",
    "redis-server",
    "ip",
    "curl",
    "unshare",
];
const PACKAGES: [&str; 5] = ["postgresql", "pgbackrest", "redis-server", "iproute2", "curl"];

pub(super) fn provide(interrupt: &Interrupt) -> Result<()> {
    if is_root() && NEEDED.iter().any(|program| find_all(program).is_empty()) {
        debian::install(&PACKAGES, interrupt)?;
    }
    Ok(())
}

pub(super) fn nothing_installed_listens_beyond_loopback(
    checkout: &Checkout,
    linters: &Linters,
    work: &Path,
) -> Result<Outcome> {
    if !is_root() {
        return Ok(Outcome::Skipped("a container requires root"));
    }
    if NEEDED.iter().any(|program| find_all(program).is_empty()) {
        return Ok(Outcome::Skipped("not on a Debian"));
    }
    let Some(caddy) = &linters.caddy else {
        return Ok(Outcome::Skipped("no caddy on this machine"));
    };
    lint(cargo(checkout).args(["build", "--quiet", "--workspace", "--bins"]))?;
    let work = work.join("package");
    let package = build(checkout, &work, env!("CARGO_PKG_VERSION"))?;
    let mut contained = Command::new("unshare");
    contained
        .args(["--mount", "--net", "--pid", "--fork", "--kill-child", "/bin/sh"])
        .arg(checkout.root.join(SCRIPT))
        .args([&work.join("container"), &package, &linters.nats, caddy]);
    let listening = lint(&mut contained)?;
    let ours = listening
        .lines()
        .filter(|line| line.contains("127.0.0.1:"))
        .count();
    // Four services and their metrics; three servers, one of them with a monitoring port; the front's two ports.
    ensure!(ours >= 14, "not all of it listens:\n{listening}");
    Ok(Outcome::Passed(format!("{ours} listen, each on loopback alone")))
}

/// Builds the package from the list in the manifest.
pub(super) fn build(checkout: &Checkout, work: &Path, version: &str) -> Result<PathBuf> {
    let manifest = fs::read_to_string(checkout.root.join(MANIFEST))?;
    let tree = work.join("tree");
    remove(&tree)?;
    for line in manifest
        .lines()
        .map(str::trim)
        .filter(|line| line.starts_with("[\""))
    {
        // `["source", "destination", "mode"],`
        let texts: Vec<&str> = line.split('"').skip(1).step_by(2).collect();
        let [source, destination, mode] = texts[..] else {
            bail!("{MANIFEST}: {line}");
        };
        let sources = match source.strip_prefix(PROGRAMS) {
            // Only a release build has the list of dependencies.
            Some(program) if program.contains('*') => continue,
            Some(program) => checkout.target_dir().join("debug").join(program),
            None => checkout.root.join("ctl").join(source),
        };
        let destination = tree.join(destination);
        fs::create_dir_all(&destination)?;
        let copy = format!(
            "install --mode={mode} {} {}/",
            sources.display(),
            destination.display()
        );
        lint(Command::new("sh").args(["-c", &copy]))?;
    }
    let control = tree.join("DEBIAN");
    fs::create_dir_all(&control)?;
    for script in ["postinst", "prerm", "postrm"] {
        let source = checkout.root.join("deploy/debian").join(script);
        lint(Command::new("install").args([
            "--mode=0755".as_ref(),
            source.as_os_str(),
            control.as_os_str(),
        ]))?;
    }
    // An upgrade keeps what the operator has changed in these.
    let settings: String = manifest
        .lines()
        .filter_map(|line| line.trim().strip_prefix('"')?.strip_suffix("\","))
        .filter(|file| file.starts_with("/etc/"))
        .flat_map(|file| [file, "\n"])
        .collect();
    fs::write(control.join("conffiles"), settings)?;
    let fields = format!(
        "Package: referral-tracker\nVersion: {version}\nArchitecture: all\nMaintainer: tests\nDescription: to be installed in a container\n"
    );
    fs::write(control.join("control"), fields)?;
    let package = work.join("package.deb");
    // Uncompressed: it is unpacked once.
    let mut build = Command::new("dpkg-deb");
    build
        .args(["--root-owner-group", "-Znone", "--build"])
        .args([&tree, &package]);
    lint(&mut build)?;
    Ok(package)
}
