//! `cargo xtask release`: everything of a release, in one directory. `--prepare` writes the version and the changelog's section before it.
//!
//! Programs are built once, by `deploy/build-release.sh`. The package, the image and the symbols are of that one build.

mod changelog;
mod refusals;
mod versions;

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use anyhow::Result;
use chrono::Utc;
use harness::area::{Checkout, remove};
use harness::cargo::cargo;
use harness::interrupt::Interrupt;
use harness::process::{self, search_first};
use harness::progress::Step;

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

#[derive(clap::Args)]
pub(crate) struct Options {
    /// Print the steps, and whether a release would be refused.
    #[arg(long)]
    dry_run: bool,
    /// Write this version everywhere and turn "Unreleased" of the changelog into its section. Commit that, then release.
    #[arg(long, value_name = "VERSION", conflicts_with = "dry_run")]
    prepare: Option<String>,
}

struct Release<'a> {
    checkout: &'a Checkout,
    /// For what is made.
    out: PathBuf,
    interrupt: &'a Interrupt,
}

impl Release<'_> {
    fn run(&self, command: &mut Command, done: &str) -> Result<String> {
        process::run(command, self.interrupt)?;
        Ok(done.to_owned())
    }

    /// The directories of the tools, which are built into the target directory.
    fn tools(&self) -> Result<Vec<PathBuf>> {
        let provide = |(name, version)| cargo_tool::provide(self.checkout, name, version, self.interrupt);
        TOOLS.into_iter().map(provide).collect()
    }
}

type Make = fn(&Release<'_>) -> Result<String>;

const STEPS: [(&str, Make); 7] = [
    (
        "the programs, with their dependencies embedded, their SBOMs and symbols (deploy/build-release.sh)",
        programs,
    ),
    ("the Debian package (cargo deb)", package),
    ("the image of these programs (deploy/save-image.sh)", image),
    ("the packages for Node and Python (npm pack, build)", clients),
    ("SBOMs and symbols", beside),
    ("the section of the changelog", notes),
    ("SHA256SUMS", checksums),
];

pub(crate) fn release(checkout: &Checkout, options: &Options, interrupt: &Interrupt) -> Result<()> {
    if let Some(version) = &options.prepare {
        return prepare(checkout, version, interrupt);
    }
    let out = checkout.target_dir().join(format!("release-{VERSION}"));
    if options.dry_run {
        println!("referral-tracker {VERSION}, in {}:", out.display());
        for (number, (what, _)) in (1..).zip(STEPS) {
            println!("{number}. {what}");
        }
    }
    refusals::check(&checkout.root, VERSION)?;
    if options.dry_run {
        return Ok(());
    }
    remove(&out)?;
    fs::create_dir_all(&out)?;
    let release = Release {
        checkout,
        out,
        interrupt,
    };
    for (what, make) in STEPS {
        let step = Step::start(format_args!("Making {what}"));
        step.done(make(&release)?);
    }
    println!("{}", release.out.display());
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

fn programs(release: &Release<'_>) -> Result<String> {
    let root = &release.checkout.root;
    let commit = process::output(Command::new("git").current_dir(root).args(["rev-parse", "HEAD"]))?;
    let mut build = Command::new(root.join("deploy/build-release.sh"));
    build.arg("--sbom").env("BUILD_REVISION", commit.trim());
    release.run(search_first(&mut build, release.tools()?)?, "built")
}

fn package(release: &Release<'_>) -> Result<String> {
    let mut deb = cargo(release.checkout);
    // The programs are stripped already, and their symbols kept.
    deb.args(["deb", "--package", "ctl", "--no-build", "--no-strip", "--output"])
        .arg(&release.out);
    release.run(search_first(&mut deb, release.tools()?)?, "packed")
}

fn image(release: &Release<'_>) -> Result<String> {
    if process::output(Command::new("docker").arg("info")).is_err() {
        return Ok("SKIPPED: no Docker Engine on this machine; this release has no image".to_owned());
    }
    let mut save = Command::new(release.checkout.root.join("deploy/save-image.sh"));
    let file = release.out.join(format!("referral-tracker-{VERSION}-image.tar"));
    release.run(save.arg(VERSION).arg(file), "saved")
}

fn clients(release: &Release<'_>) -> Result<String> {
    Clients::provide(release.checkout, release.interrupt)?.pack(&release.out, release.interrupt)?;
    Ok("packed".to_owned())
}

/// What is kept beside the programs.
fn beside(release: &Release<'_>) -> Result<String> {
    let mut copy = Command::new("cp");
    copy.current_dir(release.checkout.root.join("target/release"))
        .args(["-R", "sbom", "symbols"])
        .arg(&release.out);
    release.run(&mut copy, "copied")
}

fn notes(release: &Release<'_>) -> Result<String> {
    let changelog = fs::read_to_string(release.checkout.root.join(CHANGELOG))?;
    let section = changelog::released(&changelog, VERSION)?;
    fs::write(release.out.join(CHANGELOG), &section)?;
    Ok(format!("{} lines", section.lines().count()))
}

/// Of everything in the directory, for `sha256sum --check`.
fn checksums(release: &Release<'_>) -> Result<String> {
    const SUMS: &str = "find * -type f | sort | xargs -d '\\n' sha256sum > ../SHA256SUMS; mv ../SHA256SUMS .";
    let mut sums = Command::new("sh");
    release.run(sums.current_dir(&release.out).args(["-euc", SUMS]), "written")
}
