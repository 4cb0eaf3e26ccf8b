//! `cargo xtask release`: everything of a release, in one directory. `--prepare` writes the version and the changelog's section before it.
//!
//! Programs are built once, by `deploy/build-release.sh`. The package, the image and the symbols are of that one build.

mod changelog;
mod versions;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Result, ensure};
use chrono::Utc;
use harness::area::{Checkout, remove};
use harness::cargo::cargo;
use harness::interrupt::Interrupt;
use harness::process::{self, search_first};
use harness::progress::{Step, note};

use crate::cargo_tool;
use crate::clients::Clients;

const CHANGELOG: &str = "CHANGELOG.md";
const VERSION: &str = env!("CARGO_PKG_VERSION");
/// cargo-auditable puts the list of dependencies into each program, where scanners of images and `cargo audit bin` find it. cargo-cyclonedx
/// writes it as CycloneDX. cargo-deb reads the package's list from the manifest, and finds the libraries that the programs need.
const TOOLS: [(&str, &str); 3] = [
    ("cargo-auditable", "0.7.7"),
    ("cargo-cyclonedx", "0.5.9"),
    ("cargo-deb", "3.8.0"),
];
/// For `sha256sum --check`.
const SUMS: &str = "find * -type f | sort | xargs -d '\\n' sha256sum > ../SHA256SUMS; mv ../SHA256SUMS .";

#[derive(clap::Args)]
pub(crate) struct Options {
    /// Only say whether a release would be refused.
    #[arg(long)]
    dry_run: bool,
    /// Write this version everywhere and turn "Unreleased" of the changelog into its section. Commit that, then release.
    #[arg(long, value_name = "VERSION", conflicts_with = "dry_run")]
    prepare: Option<String>,
}

pub(crate) fn release(checkout: &Checkout, options: &Options, interrupt: &Interrupt) -> Result<()> {
    if let Some(version) = &options.prepare {
        return prepare(checkout, version, interrupt);
    }
    versions::check(&checkout.root, VERSION)?;
    let section = changelog::released(&fs::read_to_string(checkout.root.join(CHANGELOG))?, VERSION)?;
    is_new_and_committed(&checkout.root, VERSION)?;
    if options.dry_run {
        return Ok(());
    }
    let out = checkout.target_dir().join(format!("release-{VERSION}"));
    remove(&out)?;
    fs::create_dir_all(&out)?;
    fs::write(out.join(CHANGELOG), section)?;
    make(checkout, &out, interrupt)?;
    println!("{}", out.display());
    Ok(())
}

fn prepare(checkout: &Checkout, version: &str, interrupt: &Interrupt) -> Result<()> {
    let changelog = checkout.root.join(CHANGELOG);
    #[expect(
        clippy::disallowed_methods,
        reason = "the day of the release is the day it is prepared"
    )]
    let today = Utc::now().date_naive();
    let turned = changelog::turned(&fs::read_to_string(&changelog)?, version, today)?;
    versions::write(&checkout.root, VERSION, version)?;
    fs::write(changelog, turned)?;
    // Cargo.lock has the version of each package of ours.
    let mut update = cargo(checkout);
    update.args(["update", "--quiet", "--workspace", "--offline"]);
    process::run(&mut update, interrupt)
}

/// What is not committed, or has a tag already, is not released.
fn is_new_and_committed(root: &Path, version: &str) -> Result<()> {
    let git = |arguments: &[&str]| process::output(Command::new("git").current_dir(root).args(arguments));
    let changes = git(&["status", "--porcelain"])?;
    ensure!(
        changes.is_empty(),
        "a release is made of a commit, and these are in none:\n{}",
        changes.trim_end()
    );
    let tag = format!("v{version}");
    ensure!(
        git(&["tag", "--list", &tag])?.is_empty(),
        "the tag {tag} exists: {version} is out already. `cargo xtask release --prepare` with the next version"
    );
    Ok(())
}

/// Everything but the section of the changelog, which is there.
fn make(checkout: &Checkout, out: &Path, interrupt: &Interrupt) -> Result<()> {
    let root = &checkout.root;
    let tools = TOOLS.map(|(name, version)| cargo_tool::provide(checkout, name, version, interrupt));
    let tools: Vec<PathBuf> = tools.into_iter().collect::<Result<_>>()?;
    let run = |what: &str, command: &mut Command| -> Result<()> {
        let step = Step::start(format_args!("Making {what}"));
        process::run(search_first(command, tools.clone())?, interrupt)?;
        step.done("made");
        Ok(())
    };
    let commit = process::output(Command::new("git").current_dir(root).args(["rev-parse", "HEAD"]))?;
    let mut build = Command::new(root.join("deploy/build-release.sh"));
    build.arg("--sbom").env("BUILD_REVISION", commit.trim());
    run("the programs, their SBOMs and symbols", &mut build)?;

    // The programs are stripped already, and their symbols kept.
    let mut package = cargo(checkout);
    package.args(["deb", "--package", "ctl", "--no-build", "--no-strip", "--output"]);
    run("the Debian package", package.arg(out))?;

    if process::output(Command::new("docker").arg("info")).is_ok() {
        let mut image = Command::new(root.join("deploy/save-image.sh"));
        let file = out.join(format!("referral-tracker-{VERSION}-image.tar"));
        run("the image of these programs", image.arg(VERSION).arg(file))?;
    } else {
        note("SKIPPED: no Docker Engine on this machine; this release has no image");
    }
    Clients::provide(checkout, interrupt)?.pack(out, interrupt)?;

    let mut beside = Command::new("cp");
    beside
        .current_dir(root.join("target/release"))
        .args(["-R", "sbom", "symbols"]);
    run("copies of SBOMs and symbols", beside.arg(out))?;
    let mut sums = Command::new("sh");
    run("SHA256SUMS", sums.current_dir(out).args(["-euc", SUMS]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_committed_or_has_a_tag_is_refused() {
        let dir = std::env::temp_dir().join(format!("release-refusals-{}", std::process::id()));
        fs::create_dir_all(&dir).unwrap();
        let shell = |line: &str| {
            process::output(Command::new("sh").current_dir(&dir).args(["-euc", line])).unwrap();
        };
        let refused = |version: &str| is_new_and_committed(&dir, version).unwrap_err().to_string();
        shell(
            "git init --quiet; echo one > file; git add file
             git -c user.name=a -c user.email=a@a.example commit --quiet --message=one; git tag v0.1.0",
        );
        is_new_and_committed(&dir, "0.1.1").unwrap();
        assert!(refused("0.1.0").contains("v0.1.0 exists"));
        shell("echo two > file");
        assert!(refused("0.1.1").contains(" M file"));
        shell("git checkout --quiet file; touch new");
        assert!(refused("0.1.1").contains("?? new"));
        remove(&dir).unwrap();
    }
}
