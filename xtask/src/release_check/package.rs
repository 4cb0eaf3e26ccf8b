//! The Debian package, installed in a container with systemd beside Debian's servers: units run confined, nothing listens beyond loopback, and
//! pgBackRest takes a backup that can be restored. `xtask/deploy/package.sh` tries it.
//!
//! cargo-deb builds a release's package from release programs. Here the same list of files is packed with the debug programs.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Result, bail, ensure};
use harness::area::{Checkout, remove};
use harness::interrupt::Interrupt;
use harness::process;
use harness::progress::Step;
use harness::servers::postgres::is_root;
use harness::servers::{debian, nats};

use super::build_debug_programs;

const MANIFEST: &str = "ctl/Cargo.toml";
const SCRIPT: &str = "xtask/deploy/package.sh";
const PROGRAMS: &str = "target/release/";
/// Programs the script needs.
const PACKAGES: [&str; 2] = ["debootstrap", "systemd-container"];

pub(super) fn check(checkout: &Checkout, interrupt: &Interrupt) -> Result<()> {
    ensure!(is_root(), "a container with systemd requires root");
    build_debug_programs(checkout, interrupt)?;
    debian::install(&PACKAGES, interrupt)?;
    let work = checkout.target_dir().join("package");
    fs::create_dir_all(&work)?;
    let package = build(checkout, &work, interrupt)?;
    let step = Step::start("Installing the Debian package in a container with systemd");
    let mut script = Command::new(checkout.root.join(SCRIPT));
    script.args([&work, &package, &nats::find_or_fetch(checkout, interrupt)?]);
    process::run(&mut script, interrupt)?;
    step.done("it works");
    Ok(())
}

/// Builds the package from the list in the manifest.
fn build(checkout: &Checkout, work: &Path, interrupt: &Interrupt) -> Result<PathBuf> {
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
        process::run(Command::new("sh").args(["-c", &copy]), interrupt)?;
    }
    let control = tree.join("DEBIAN");
    fs::create_dir_all(&control)?;
    for script in ["postinst", "prerm", "postrm"] {
        let source = checkout.root.join("deploy/debian").join(script);
        let mut install = Command::new("install");
        install.arg("--mode=0755").args([&source, &control]);
        process::run(&mut install, interrupt)?;
    }
    // An upgrade keeps what the operator has changed in these.
    let settings: String = manifest
        .lines()
        .filter_map(|line| line.trim().strip_prefix('"')?.strip_suffix("\","))
        .filter(|file| file.starts_with("/etc/"))
        .flat_map(|file| [file, "\n"])
        .collect();
    fs::write(control.join("conffiles"), settings)?;
    let version = env!("CARGO_PKG_VERSION");
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
    process::run(&mut build, interrupt)?;
    Ok(package)
}
