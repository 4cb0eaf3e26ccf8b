//! `cargo xtask fuzz`: libFuzzer on the targets of `xtask/fuzz`, one on each processor at a time.
//!
//! New inputs are collected below the target directory, where the next run continues. The committed corpus is small: inputs are
//! added by hand, with a descriptive name.

use std::env::consts::ARCH;
use std::fs::{self, File};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::{Mutex, PoisonError};
use std::thread;

use anyhow::{Context, Result, bail, ensure};
use harness::area::Checkout;
use harness::interrupt::Interrupt;
use harness::process;
use harness::progress::Step;

use crate::cargo_tool;

const CARGO_FUZZ: &str = "cargo-fuzz";
const CARGO_FUZZ_VERSION: &str = "0.13.2";
/// Coverage counters need flags of a nightly compiler.
const TOOLCHAIN: &str = "nightly";
const ENTRY_POINTS: &str = "xtask/fuzz/libfuzzer";
const CORPUS: &str = "xtask/fuzz/corpus";

#[derive(clap::Args)]
pub(crate) struct Options {
    /// One target; all of them when left out.
    target: Option<String>,
    /// How long each target runs.
    #[arg(long, default_value_t = 2)]
    minutes: u64,
}

pub(crate) fn fuzz(checkout: &Checkout, options: &Options, interrupt: &Interrupt) -> Result<()> {
    let all = targets(checkout)?;
    let chosen: Vec<String> = match &options.target {
        Some(target) if all.contains(target) => vec![target.clone()],
        Some(target) => bail!("there is no target {target}; there are {}", all.join(", ")),
        None => all,
    };
    let step = Step::start("Building the targets");
    let target_dir = checkout.target_dir().join("fuzz");
    let tools = cargo_tool::provide(checkout, CARGO_FUZZ, CARGO_FUZZ_VERSION, interrupt)?;
    let mut build = Command::new(tools.join(CARGO_FUZZ));
    build
        .current_dir(&checkout.root)
        // Set by the stable cargo that runs us.
        .env_remove("CARGO")
        .env("RUSTUP_TOOLCHAIN", TOOLCHAIN)
        // We have no unsafe code for a sanitizer to check, and without one twice as many inputs are tried.
        .args([
            "fuzz",
            "build",
            "--fuzz-dir",
            ENTRY_POINTS,
            "--sanitizer",
            "none",
            "--target-dir",
        ])
        .arg(&target_dir);
    process::run(&mut build, interrupt)?;
    step.done("built");
    let directories = Directories {
        programs: target_dir.join(format!("{ARCH}-unknown-linux-gnu/release")),
        found: target_dir.join("found"),
        kept: checkout.root.join(CORPUS),
        fixtures: checkout.root.join("webhook-consumer/tests/fixtures"),
    };
    let step = Step::start(format_args!("Fuzzing, {} min each", options.minutes));
    let failed = run(&directories, chosen, options.minutes * 60, interrupt)?;
    ensure!(
        failed.is_empty(),
        "a property does not hold: {}",
        failed.join(", ")
    );
    step.done("every property holds");
    Ok(())
}

/// Each has a corpus; a test compares these with the targets.
fn targets(checkout: &Checkout) -> Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(checkout.root.join(CORPUS))? {
        names.push(entry?.file_name().to_string_lossy().into_owned());
    }
    names.sort();
    Ok(names)
}

struct Directories {
    programs: PathBuf,
    found: PathBuf,
    kept: PathBuf,
    fixtures: PathBuf,
}

/// Returns the targets whose property does not hold.
fn run(
    directories: &Directories,
    targets: Vec<String>,
    seconds: u64,
    interrupt: &Interrupt,
) -> Result<Vec<String>> {
    let waiting = Mutex::new(targets.into_iter());
    let next = || waiting.lock().unwrap_or_else(PoisonError::into_inner).next();
    let work = || -> Result<Vec<String>> {
        let mut failed = Vec::new();
        while let Some(target) = next() {
            if !directories.fuzz(&target, seconds, interrupt)? {
                failed.push(target);
            }
        }
        Ok(failed)
    };
    let threads = thread::available_parallelism().map_or(1, usize::from);
    thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        let failed = workers
            .into_iter()
            .map(|worker| worker.join().unwrap_or_else(|_| bail!("a thread panicked")));
        Ok(failed.collect::<Result<Vec<_>>>()?.concat())
    })
}

impl Directories {
    /// Whether the target's property holds.
    fn fuzz(&self, target: &str, seconds: u64, interrupt: &Interrupt) -> Result<bool> {
        let found = self.found.join(target);
        let failures = self.found.join(format!("{target}-failures"));
        for dir in [&found, &failures] {
            fs::create_dir_all(dir).with_context(|| format!("cannot create {}", dir.display()))?;
        }
        let log = self.found.join(format!("{target}.log"));
        let file = File::create(&log).with_context(|| format!("cannot write {}", log.display()))?;
        let mut command = Command::new(self.programs.join(target));
        command
            .arg(format!("-max_total_time={seconds}"))
            .arg("-print_final_stats=1")
            .arg(format!("-artifact_prefix={}/", failures.display()))
            // Bodies are longer than libFuzzer's default; longer ones are rejected before parsing.
            .arg("-max_len=16384")
            .args([&found, &self.kept.join(target)]);
        if target == "stripe_event" {
            command.arg(&self.fixtures);
        }
        let status = process::status(command.stdout(Stdio::null()).stderr(file), interrupt)?;
        if status.success() {
            println!("{target}: holds; {}", log.display());
        } else {
            eprintln!("{target}: {}", process::tail(&log));
        }
        Ok(status.success())
    }
}
