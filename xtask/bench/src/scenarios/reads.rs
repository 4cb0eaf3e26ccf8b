//! The dashboard's reads, for different numbers of events.
//!
//! One program has the [`history`] and all of the running traffic. For each size, the history is extended, and after a warm-up all reads
//! are measured under traffic at a fixed rate, round by round.
//!
//! [`history`]: crate::history

use std::net::SocketAddr;
use std::time::Duration;

use anyhow::Result;
use harness::progress::{Step, note};
use harness::services::INGEST;

use crate::effort::Effort;
use crate::environment::{BenchEnvironment, Group};
use crate::history;
use crate::load::{Load, Requests};
use crate::outcome::{Outcome, float, median, milliseconds};
use crate::report::{Goal, Report, Row, compact};
use crate::requests::{Reads, Sales, Target};

/// Kinds of reads.
const READ: usize = 7;
/// Reads a second, of each kind: 12 million a day in all.
const READS: f64 = 20.0;
/// Traffic a second: 26 million clicks and two and a half million sales a day, which do not saturate two cores. On saturated cores the
/// queue would be measured, not the read.
const CLICKS: f64 = 300.0;
const SALES: f64 = 30.0;
const WARM_UP: Duration = Duration::from_secs(5);
const OWNER: &str = "owner@market.example";

#[derive(clap::Args)]
pub(crate) struct Options {
    /// Clicks to load, each size in turn.
    #[arg(long, value_delimiter = ',')]
    sizes: Vec<u64>,
    /// Running clicks a second, all of them the program's.
    #[arg(long, default_value_t = CLICKS)]
    clicks: f64,
    /// Running sales a second.
    #[arg(long, default_value_t = SALES)]
    sales: f64,
    /// Reads a second, of each kind.
    #[arg(long, default_value_t = READS)]
    reads: f64,
    /// Seconds of each measurement: 20 unless said otherwise, 10 if quick.
    #[arg(long)]
    seconds: Option<u64>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            sizes: Vec::new(),
            clicks: CLICKS,
            sales: SALES,
            reads: READS,
            seconds: None,
        }
    }
}

impl Options {
    fn sizes(&self, effort: Effort) -> Vec<u64> {
        match (self.sizes.is_empty(), effort.quick) {
            (false, _) => self.sizes.clone(),
            (true, true) => vec![100_000, 1_000_000],
            (true, false) => vec![100_000, 1_000_000, 10_000_000],
        }
    }
}

/// The reads, each with p50 and p99 in milliseconds.
struct Figures {
    clicks: u64,
    reads: Vec<(&'static str, f64, f64)>,
}

pub(super) fn measure(
    bench: &mut BenchEnvironment<'_>,
    options: &Options,
    effort: Effort,
    report: &mut Report,
) -> Result<()> {
    let workspace = bench.market.workspace_id.to_string();
    bench.ctl(&[
        "user",
        "create",
        "--email",
        OWNER,
        "--name",
        "Owner",
        "--workspace-id",
        &workspace,
        "--generate-password",
    ])?;
    let session = bench.runtime.block_on(bench.market.sign_in(&bench.pool, OWNER))?;
    bench.start("worker", "worker")?;
    let ingest = bench.start(INGEST, INGEST)?;
    let dashboard = Dashboard {
        ingest,
        session,
        program_id: bench.market.hot_program(),
    };
    let mut sizes = Vec::new();
    let mut had = 0;
    for (number, size) in options.sizes(effort).into_iter().enumerate() {
        let took = history::grow(bench, had, size)?;
        had = size;
        note(format_args!("loaded in {:.0} s", took.as_secs_f64()));
        sizes.push(dashboard.at_size(bench, options, effort, size, number)?);
    }
    add_rows(report, &sizes);
    Ok(())
}

fn add_rows(report: &mut Report, sizes: &[Figures]) {
    for (index, (read, ..)) in sizes
        .first()
        .map_or(&[][..], |first| &first.reads)
        .iter()
        .enumerate()
    {
        let p99 = |figures: &Figures| figures.reads.get(index).map_or(0.0, |(_, _, p99)| *p99);
        let fewest = sizes.first().map_or(0.0, p99);
        for figures in sizes {
            let clicks = compact(float(figures.clicks));
            let p50 = figures.reads.get(index).map_or(0.0, |(_, p50, _)| *p50);
            report.add(Row::of(format!("{read}, {clicks} clicks: p50"), p50, "ms"));
            report.add(
                Row::of(format!("{read}, {clicks} clicks: p99"), p99(figures), "ms").goal(Goal::AtMost(10.0)),
            );
            report.add(
                Row::of(
                    format!("{read}, {clicks} clicks: p99, to the fewest"),
                    p99(figures),
                    "ms",
                )
                .against("the fewest", fewest, Goal::AtMost(1.2)),
            );
        }
    }
}

struct Dashboard {
    ingest: SocketAddr,
    session: String,
    program_id: i64,
}

impl Dashboard {
    fn reads(&self) -> [(&'static str, String); READ] {
        let id = self.program_id;
        let report = format!("/api/advertiser/affiliate-programs/{id}/report");
        [
            (
                "performance",
                format!("/api/tracking/performance/{id}?period=30d"),
            ),
            ("events", format!("/api/tracking/events/{id}")),
            (
                "event list",
                // As the page asks for them.
                format!("/api/advertiser/affiliate-programs/{id}/events?limit=25"),
            ),
            ("report", format!("{report}?period=30d")),
            ("by partner", format!("{report}/breakdown?by=partner&period=30d")),
            ("by link", format!("{report}/breakdown?by=link&period=30d")),
            (
                "by referrer",
                format!("{report}/breakdown?by=referrer&period=30d"),
            ),
        ]
    }

    fn at_size(
        &self,
        bench: &mut BenchEnvironment<'_>,
        options: &Options,
        effort: Effort,
        clicks: u64,
        number: usize,
    ) -> Result<Figures> {
        let mut rounds = vec![Vec::new(); self.reads().len()];
        // The first seconds of a service: connections are made, and plans.
        self.beside_traffic(bench, options, WARM_UP, &format!("{number}warm"))?;
        let seconds = options.seconds.unwrap_or(if effort.quick { 10 } else { 20 });
        for round in 0..effort.rounds() {
            bench.settle()?;
            let step = Step::start(format_args!("Reading beside traffic, round {}", round + 1));
            let outcomes = self.beside_traffic(
                bench,
                options,
                Duration::from_secs(seconds),
                &format!("{number}{round}"),
            )?;
            for (all, outcome) in rounds.iter_mut().zip(&outcomes) {
                let answers = &outcome.answers;
                all.push((
                    milliseconds(answers.quantile(0.5)),
                    milliseconds(answers.quantile(0.99)),
                ));
            }
            let lines = self.reads().into_iter().zip(&outcomes);
            let lines = lines.map(|((name, _), outcome)| format!("{name:12} {}", outcome.answers));
            step.done(lines.collect::<Vec<_>>().join("\n    "));
        }
        let middle = |of: &[(f64, f64)]| {
            let (p50, p99): (Vec<f64>, Vec<f64>) = of.iter().copied().unzip();
            (median(&p50), median(&p99))
        };
        let reads = self.reads().into_iter().zip(&rounds).map(|((name, _), of)| {
            let (p50, p99) = middle(of);
            (name, p50, p99)
        });
        Ok(Figures {
            clicks,
            reads: reads.collect(),
        })
    }

    /// Runs all reads, clicks and sales concurrently. Outcomes are in the order of the reads.
    fn beside_traffic(
        &self,
        bench: &mut BenchEnvironment<'_>,
        options: &Options,
        length: Duration,
        run: &str,
    ) -> Result<Vec<Outcome>> {
        let reads = self.reads();
        let load = |rate: f64, connections| Load::open(self.ingest, connections, rate, length);
        let (market, clicks) = (bench.market.clone(), bench.clicks(Target::Hot));
        // People do not ask for all of them in the same instant.
        let mut group: Group<'_> = (0..)
            .zip(&reads)
            .map(|(number, (_, path))| {
                let reads: Box<dyn Requests + Send> = Box::new(Reads::new(path, &self.session));
                let load = Load {
                    scattered: Some(number),
                    ..load(options.reads, 4)
                };
                (load, reads)
            })
            .collect();
        group.push((load(options.clicks, 32), Box::new(clicks)));
        let sales = Sales::new(&market, Target::Hot, run);
        group.push((load(options.sales, 32), Box::new(sales)));
        let mut outcomes = bench.together(group)?;
        let names = reads.iter().map(|(name, _)| *name).chain(["clicks", "sales"]);
        for (what, outcome) in names.zip(&outcomes) {
            if outcome.lost() > 0 {
                note(format_args!("{what}: {}", outcome.losses()));
            }
        }
        outcomes.truncate(reads.len());
        Ok(outcomes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_held_against_the_smallest() {
        let figures = |clicks, p99| Figures {
            clicks,
            reads: vec![("events", 1.0, p99)],
        };
        let mut report = Report::default();
        add_rows(&mut report, &[figures(10, 4.0), figures(100, 5.0)]);
        let judged: Vec<_> = report
            .rows
            .iter()
            .filter_map(|row| Some((row.ratio?, row.met?)))
            .collect();
        assert_eq!(judged, [(1.0, true), (1.25, false)]);
    }
}
