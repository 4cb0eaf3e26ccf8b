//! `cargo xtask fuzz`: libFuzzer on the targets of `xtask/fuzz`, one on each processor at a time.
//!
//! New inputs are collected below the target directory, where the next run continues. The committed corpus is small: inputs are
//! added by hand, with a descriptive name.

use std::env::consts::ARCH;
use std::fs::{self, File};
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;

use anyhow::{Result, bail, ensure};
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
        ensure!(
            targets.contains(target),
            "there is no target {target}; there are {all}"
        );
        targets.retain(|one| one == target);
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

    let step = Step::start(format_args!("Fuzzing, {} min each", options.minutes));
    let threads = thread::available_parallelism().map_or(1, usize::from);
    let fuzz = |first: usize| -> Result<bool> {
        let mut all_hold = true;
        for target in targets.iter().skip(first).step_by(threads) {
            all_hold &= holds(checkout, &target_dir, target, options.minutes * 60, interrupt)?;
        }
        Ok(all_hold)
    };
    let all_hold = thread::scope(|scope| {
        let fuzz = &fuzz;
        let threads: Vec<_> = (0..threads)
            .map(|first| scope.spawn(move || fuzz(first)))
            .collect();
        threads.into_iter().try_fold(true, |all_hold, thread| {
            Ok::<_, anyhow::Error>(thread.join().unwrap_or_else(|_| bail!("a thread panicked"))? && all_hold)
        })
    })?;
    ensure!(all_hold, "a property does not hold");
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

/// Whether the target's property holds.
fn holds(
    checkout: &Checkout,
    target_dir: &Path,
    target: &str,
    seconds: u64,
    interrupt: &Interrupt,
) -> Result<bool> {
    let all_found = target_dir.join("found");
    let found = all_found.join(target);
    let failures = all_found.join(format!("{target}-failures"));
    fs::create_dir_all(&found)?;
    fs::create_dir_all(&failures)?;
    let log = all_found.join(format!("{target}.log"));
    let program = format!("{ARCH}-unknown-linux-gnu/release/{target}");
    let mut command = Command::new(target_dir.join(program));
    command
        .arg(format!("-max_total_time={seconds}"))
        .arg("-print_final_stats=1")
        .arg(format!("-artifact_prefix={}/", failures.display()))
        // Bodies are longer than libFuzzer's default; longer ones are rejected before parsing.
        .arg("-max_len=16384")
        .args([found, checkout.root.join(CORPUS).join(target)]);
    if target == "stripe_event" {
        command.arg(checkout.root.join("webhook-consumer/tests/fixtures"));
    }
    let command = command.stdout(Stdio::null()).stderr(File::create(&log)?);
    let holds = process::status(command, interrupt)?.success();
    if holds {
        println!("{target}: holds; {}", log.display());
    } else {
        eprintln!("{target}: {}", process::tail(&log));
    }
    Ok(holds)
}
