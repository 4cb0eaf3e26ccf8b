//! `cargo xtask fuzz`: libFuzzer on the targets of `xtask/fuzz`, one after the other, on every processor.
//!
//! New inputs are collected below the target directory, where the next run continues. The committed corpus is small: inputs are
//! added by hand, with a descriptive name.

use std::env::consts::ARCH;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;

use anyhow::{Result, ensure};
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
    let mut targets = targets(checkout)?;
    if let Some(target) = &options.target {
        let all = targets.join(", ");
        targets.retain(|one| one == target);
        ensure!(
            !targets.is_empty(),
            "there is no target {target}; there are {all}"
        );
    }
    let step = Step::start("Building the targets");
    let target_dir = checkout.target_dir().join("fuzz");
    let tools = cargo_tool::provide(checkout, CARGO_FUZZ, CARGO_FUZZ_VERSION, interrupt)?;
    let mut build = Command::new(tools.join(CARGO_FUZZ));
    build
        .current_dir(&checkout.root)
        // Set by the stable cargo that runs us.
        .env_remove("CARGO")
        .env("RUSTUP_TOOLCHAIN", TOOLCHAIN)
        .args(["fuzz", "build", "--fuzz-dir", ENTRY_POINTS])
        // We have no unsafe code for a sanitizer to check, and without one twice as many inputs are tried.
        .args(["--sanitizer", "none", "--target-dir"])
        .arg(&target_dir);
    process::run(&mut build, interrupt)?;
    step.done("built");

    for target in targets {
        let step = Step::start(format_args!("Fuzzing {target}, {} min", options.minutes));
        let log = run(checkout, &target_dir, &target, options.minutes * 60, interrupt)?;
        step.done(format_args!("its property holds; {}", log.display()));
    }
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

/// Fails when the target's property does not hold. Returns the log.
fn run(
    checkout: &Checkout,
    target_dir: &Path,
    target: &str,
    seconds: u64,
    interrupt: &Interrupt,
) -> Result<PathBuf> {
    let all_found = target_dir.join("found");
    let found = all_found.join(target);
    let failures = all_found.join(format!("{target}-failures"));
    fs::create_dir_all(&found)?;
    fs::create_dir_all(&failures)?;
    let log = all_found.join(format!("{target}.log"));
    let program = format!("{ARCH}-unknown-linux-gnu/release/{target}");
    let mut command = Command::new(target_dir.join(program));
    command
        // A process on each processor.
        .arg(format!("-fork={}", thread::available_parallelism()?))
        .arg(format!("-max_total_time={seconds}"))
        .arg(format!("-artifact_prefix={}/", failures.display()))
        // Bodies are longer than libFuzzer's default; longer ones are rejected before parsing.
        .arg("-max_len=16384")
        .args([found, checkout.root.join(CORPUS).join(target)]);
    if target == "stripe_event" {
        command.arg(checkout.root.join("webhook-consumer/tests/fixtures"));
    }
    let command = command.stdout(Stdio::null()).stderr(File::create(&log)?);
    let holds = process::status(command, interrupt)?.success();
    ensure!(
        holds,
        "a property of {target} does not hold: {}",
        process::tail(&log)
    );
    Ok(log)
}
