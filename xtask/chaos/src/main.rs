//! `cargo xtask chaos`: injects faults under load, and checks that nothing is lost and nothing is counted
//! twice.
//!
//! Its own stack: two ingests, two workers, two deliveries, a webhook consumer, each connected to each server
//! through a proxy that can fail. A round is load by simulated visitors with a journal of requests and
//! answers (`funnel.rs`, `journal.rs`), faults drawn from its seed (`schedule.rs`, `faults.rs`), recovery,
//! draining, and the reconciliation of the journal with the rows (`reconcile.rs`). A violation ends the
//! command and keeps journal, logs and data.

#![expect(
    clippy::print_stdout,
    reason = "a command line: what it prints is its interface"
)]

mod disk;
mod drain;
mod faults;
mod funnel;
mod grace;
mod http;
mod journal;
mod market;
mod processor;
mod proxy;
mod reconcile;
mod rng;
mod round;
mod rows;
mod schedule;
mod stack;
mod usage;

use std::process::ExitCode;

use anyhow::Result;
use clap::Parser;
use harness::area::Checkout;
use harness::interrupt::Interrupt;
use harness::keys::random_hex;
use harness::progress::note;

use self::schedule::Round;
use self::stack::Stack;

#[derive(Parser)]
#[command(name = "cargo xtask chaos", bin_name = "cargo xtask chaos")]
struct Options {
    /// Seed of all rounds; a random one is printed if not given.
    #[arg(long)]
    seed: Option<u64>,
    #[arg(long, default_value_t = schedule::cycle())]
    rounds: u64,
    /// Only this one.
    #[arg(long, conflicts_with = "rounds")]
    round: Option<u64>,
    /// Only rounds of one kind, by a part of its name: `kill`, `killworker`, `natswiped`, `networkredis`,
    /// `grace`, `rolling`, …
    #[arg(long)]
    only: Option<String>,
    /// Five rounds of fixed kinds: what `cargo xtask test` runs.
    #[arg(long, conflicts_with_all = ["rounds", "round", "only"])]
    few: bool,
}

/// Of the violations of a round.
const SHOWN: usize = 20;
const FEW: [&str; 5] = ["crash", "commitunheard", "natskill", "postgresstop", "rolling"];

impl Options {
    /// In their order.
    fn rounds(&self, seed: u64) -> Result<Vec<Round>> {
        if self.few {
            return (0..)
                .zip(FEW)
                .map(|(number, only)| Round::draw(seed, number, Some(only)))
                .collect();
        }
        let numbers = match self.round {
            Some(round) => round..round + 1,
            None => 0..self.rounds,
        };
        numbers
            .map(|number| Round::draw(seed, number, self.only.as_deref()))
            .collect()
    }

    /// What repeats a round, beside the seed.
    fn again(&self, number: u64) -> String {
        match &self.only {
            _ if self.few => "--few".to_owned(),
            Some(only) => format!("--round {number} --only {only}"),
            None => format!("--round {number}"),
        }
    }
}

fn main() -> ExitCode {
    let options = Options::parse();
    harness::run_command(|checkout, interrupt| chaos(checkout, &options, interrupt))
}

/// Fails with the exit code 1 when a round is violated.
fn chaos(checkout: &Checkout, options: &Options, interrupt: &Interrupt) -> Result<ExitCode> {
    let seed = match options.seed {
        Some(seed) => seed,
        None => u64::from_str_radix(&random_hex::<4>()?, 16)?,
    };
    let rounds = options.rounds(seed)?;
    println!("{} rounds, --seed {seed}", rounds.len());
    let mut stack = Stack::start(checkout, interrupt)?;
    let mut requests = 0;
    for round in &rounds {
        let journal = checkout
            .target_dir()
            .join(format!("chaos/round-{}.jsonl", round.number));
        let outcome = round::run(&mut stack, round, &journal)?;
        println!("{}", outcome.summary);
        requests += outcome.requests;
        if !outcome.violations.is_empty() {
            for violation in outcome.violations.iter().take(SHOWN) {
                println!("  - {violation}");
            }
            println!("{} violations", outcome.violations.len());
            println!(
                "repeat: cargo xtask chaos --seed {seed} {}",
                options.again(round.number)
            );
            let (journal, kept) = (journal.display(), stack.area.dir.display());
            note(format_args!("journal: {journal}; logs and data: {kept}"));
            stack.stop();
            return Ok(ExitCode::FAILURE);
        }
        stack.forget_logs()?;
    }
    println!(
        "{} rounds, {requests} requests: nothing lost, nothing counted twice",
        rounds.len()
    );
    stack.clear();
    Ok(ExitCode::SUCCESS)
}
