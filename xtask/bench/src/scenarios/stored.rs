//! The cost of a sale, for different numbers of stored sales.

use std::time::Duration;

use anyhow::Result;
use harness::progress::note;
use harness::services::INGEST;

use super::comparison::MANY;
use crate::effort::Effort;
use crate::environment::BenchEnvironment;
use crate::history;
use crate::load::Load;
use crate::outcome::{float, median};
use crate::report::{Goal, Report, Row, compact};
use crate::requests::{Sales, Target};
use crate::usage::shown;

const SECONDS: u64 = 8;
/// The processes whose CPU time is a sale's cost.
const PAID: [&str; 5] = ["ingest", "worker", "postgres", "nats", "redis"];

#[derive(Debug, Default, clap::Args)]
pub(crate) struct Options {
    /// Sales to load, each size in turn.
    #[arg(long, value_delimiter = ',')]
    sizes: Vec<u64>,
}

/// Goal 11.
pub(super) fn measure(
    bench: &mut BenchEnvironment<'_>,
    options: &Options,
    effort: Effort,
    report: &mut Report,
) -> Result<()> {
    let sizes = match (options.sizes.is_empty(), effort.quick) {
        (false, _) => options.sizes.clone(),
        (true, true) => vec![10_000, 200_000],
        (true, false) => vec![10_000, 1_000_000, 10_000_000],
    };
    bench.start("worker", "worker")?;
    let ingest = bench.start(INGEST, INGEST)?;
    let market = bench.market.clone();
    let (mut had, mut fewest) = (0, None);
    for (number, size) in sizes.into_iter().enumerate() {
        history::grow_sales(bench, had, size)?;
        had = size;
        let (mut costs, mut rates) = (Vec::new(), Vec::new());
        for round in 0..effort.rounds() {
            bench.settle()?;
            let load = Load::closed(ingest, MANY, Duration::from_secs(SECONDS));
            let mut sales = Sales::new(&market, Target::Spread, &format!("s{number}{round}"));
            let measured = bench.run(&load, &mut sales)?;
            let rate = measured.outcome.rate();
            note(format_args!(
                "{rate:.0} sales a second; {}; {}",
                measured.outcome.losses(),
                shown(&measured.costs)
            ));
            rates.push(rate);
            let paid = measured
                .costs
                .iter()
                .filter(|(process, _)| PAID.contains(&process.as_str()));
            costs.push(paid.map(|(_, micros)| micros).sum());
        }
        let (cost, stored) = (median(&costs), compact(float(size)));
        report.add(Row::of(
            format!("11 sales, {stored} stored"),
            median(&rates),
            "/s",
        ));
        report.add(
            Row::of(format!("11 CPU per sale, {stored} stored"), cost, "µs").against(
                "the fewest",
                *fewest.get_or_insert(cost),
                Goal::AtMost(1.3),
            ),
        );
    }
    Ok(())
}
