//! The dashboard's reads, for different numbers of events.
//!
//! One program has the [`history`] and all of the running traffic. For each size, the history is extended,
//! and after a warm-up all reads are measured under traffic at a fixed rate, round by round.
//!
//! [`history`]: crate::history

use std::net::SocketAddr;
use std::time::Duration;

use anyhow::Result;
use harness::progress::{Step, note};
use harness::services::INGEST;

use super::Effort;
use crate::environment::{BenchEnvironment, Group};
use crate::history;
use crate::load::{Load, Requests};
use crate::outcome::{Outcome, float};
use crate::report::{Goal, Report, Rounds, Row, compact};
use crate::requests::{Reads, Sales, Target};

/// Reads a second, of each kind: 12 million a day in all.
const READS: f64 = 20.0;
/// Traffic a second: 26 million clicks and two and a half million sales a day, which do not saturate two
/// cores. On saturated cores the queue would be measured, not the read.
const CLICKS: f64 = 300.0;
const SALES: f64 = 30.0;
const WARM_UP: Duration = Duration::from_secs(5);
const OWNER: &str = "owner@market.example";

#[derive(Default, clap::Args)]
pub(crate) struct Options {
    /// Clicks to load, each size in turn.
    #[arg(long, value_delimiter = ',')]
    sizes: Vec<u64>,
    /// Seconds of each measurement: 20 unless said otherwise, 10 if quick.
    #[arg(long)]
    seconds: Option<u64>,
}

impl Options {
    fn sizes(&self, effort: Effort) -> Vec<u64> {
        match (self.sizes.is_empty(), effort.quick) {
            (false, _) => self.sizes.clone(),
            (true, true) => vec![100_000, 1_000_000],
            (true, false) => vec![100_000, 1_000_000, 10_000_000],
        }
    }

    fn length(&self, effort: Effort) -> Duration {
        Duration::from_secs(self.seconds.unwrap_or(if effort.quick { 10 } else { 20 }))
    }
}

pub(super) fn measure(
    bench: &mut BenchEnvironment<'_>,
    options: &Options,
    effort: Effort,
    report: &mut Report,
) -> Result<()> {
    let dashboard = Dashboard::open(bench)?;
    let mut sizes = Vec::new();
    let mut had = 0;
    for size in options.sizes(effort) {
        let took = history::grow(bench, had, size)?;
        had = size;
        note(format_args!("loaded in {:.0} s", took.as_secs_f64()));
        sizes.push((size, dashboard.at_size(bench, options, effort, sizes.len())?));
    }
    let names: Vec<&str> = dashboard.reads.iter().map(|(name, _)| *name).collect();
    add_rows(report, &names, &sizes);
    Ok(())
}

/// `sizes`: with p50 and p99 of each read.
fn add_rows(report: &mut Report, reads: &[&str], sizes: &[(u64, Rounds)]) {
    for read in reads {
        let p99 = |rounds: &Rounds| rounds.median(&format!("{read}: p99"));
        let fewest = sizes.first().map_or(0.0, |(_, rounds)| p99(rounds));
        for (clicks, rounds) in sizes {
            let name = format!("{read}, {} clicks", compact(float(*clicks)));
            let p50 = rounds.median(&format!("{read}: p50"));
            report.add(Row::of(format!("{name}: p50"), p50, "ms"));
            report.add(Row::of(format!("{name}: p99"), p99(rounds), "ms").goal(Goal::AtMost(10.0)));
            let row = Row::of(format!("{name}: p99, to the fewest"), p99(rounds), "ms");
            report.add(row.against("the fewest", fewest, Goal::AtMost(1.2)));
        }
    }
}

struct Dashboard {
    ingest: SocketAddr,
    session: String,
    /// With their paths.
    reads: [(&'static str, String); 7],
}

impl Dashboard {
    fn open(bench: &mut BenchEnvironment<'_>) -> Result<Self> {
        let workspace = bench.market.workspace_id.to_string();
        let owner = ["user", "create", "--email", OWNER, "--name", "Owner"];
        let access = ["--workspace-id", &workspace, "--generate-password"];
        bench.ctl(&[&owner[..], &access].concat())?;
        let id = bench.market.hot_program();
        let of_program = format!("/api/advertiser/affiliate-programs/{id}");
        let breakdown = |by| format!("{of_program}/report/breakdown?by={by}&period=30d");
        bench.start("worker", "worker")?;
        Ok(Self {
            ingest: bench.start(INGEST, INGEST)?,
            session: bench.runtime.block_on(bench.market.sign_in(&bench.pool, OWNER))?,
            reads: [
                (
                    "performance",
                    format!("/api/tracking/performance/{id}?period=30d"),
                ),
                ("events", format!("/api/tracking/events/{id}")),
                // As the page asks for them.
                ("event list", format!("{of_program}/events?limit=25")),
                ("report", format!("{of_program}/report?period=30d")),
                ("by partner", breakdown("partner")),
                ("by link", breakdown("link")),
                ("by referrer", breakdown("referrer")),
            ],
        })
    }

    /// p50 and p99 of each read.
    fn at_size(
        &self,
        bench: &mut BenchEnvironment<'_>,
        options: &Options,
        effort: Effort,
        number: usize,
    ) -> Result<Rounds> {
        let mut rounds = Rounds::default();
        // The first seconds of a service: connections are made, and plans.
        self.beside_traffic(bench, WARM_UP, &format!("{number}warm"))?;
        for round in 0..effort.rounds() {
            bench.settle()?;
            let step = Step::start(format_args!("Reading beside traffic, round {}", round + 1));
            let run = format!("{number}{round}");
            let outcomes = self.beside_traffic(bench, options.length(effort), &run)?;
            let mut lines = Vec::new();
            for ((name, _), Outcome { answers, .. }) in self.reads.iter().zip(&outcomes) {
                rounds.add(&format!("{name}: p50"), answers.quantile(0.5));
                rounds.add(&format!("{name}: p99"), answers.quantile(0.99));
                lines.push(format!("{name:12} {answers}"));
            }
            step.done(lines.join("\n    "));
        }
        Ok(rounds)
    }

    /// Runs all reads, clicks and sales concurrently. Outcomes are in the order of the reads.
    fn beside_traffic(
        &self,
        bench: &mut BenchEnvironment<'_>,
        length: Duration,
        run: &str,
    ) -> Result<Vec<Outcome>> {
        let load = |rate: f64, connections| Load::open(self.ingest, connections, rate, length);
        let clicks = bench.clicks(Target::Hot);
        // People do not ask for all of them in the same instant.
        let mut group: Group = (0..)
            .zip(&self.reads)
            .map(|(number, (_, path))| {
                let reads: Box<dyn Requests + Send> = Box::new(Reads::new(path, &self.session));
                let load = Load {
                    scattered: Some(number),
                    ..load(READS, 4)
                };
                (load, reads)
            })
            .collect();
        group.push((load(CLICKS, 32), Box::new(clicks)));
        let sales = Sales::new(&bench.market, Target::Hot, run);
        group.push((load(SALES, 32), Box::new(sales)));
        let outcomes = bench.together(group)?;
        let names = self
            .reads
            .iter()
            .map(|(name, _)| *name)
            .chain(["clicks", "sales"]);
        for (what, outcome) in names.zip(&outcomes) {
            if outcome.lost() > 0 {
                note(format_args!("{what}: {}", outcome.losses()));
            }
        }
        Ok(outcomes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_held_against_the_smallest() {
        let of = |p99| {
            let mut rounds = Rounds::default();
            rounds.add("events: p99", p99);
            rounds
        };
        let mut report = Report::default();
        add_rows(&mut report, &["events"], &[(10, of(4.0)), (100, of(5.0))]);
        let judged: Vec<_> = report
            .rows
            .iter()
            .filter_map(|row| Some((row.ratio()?, row.is_met()?)))
            .collect();
        assert_eq!(judged, [(1.0, true), (1.25, false)]);
    }
}
