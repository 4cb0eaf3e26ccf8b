//! Clicks: accepted rate, settled rate, latency, memory.

use std::net::SocketAddr;
use std::time::Duration;

use anyhow::Result;
use harness::progress::{Step, note};

use super::comparison::{Comparison, FEW, MANY};
use crate::load::Load;
use crate::outcome::{float, median, per_second};
use crate::report::{Goal, Rounds, Row};
use crate::requests::Target;

const CONNECTIONS: [usize; 3] = [FEW, 256, MANY];
/// Steps of the search for the settled rate.
const AT_ONCE: usize = 256;
const TRIES: usize = 6;
const STEP: f64 = 1.15;
/// Seconds of load that may be in flight between the 200 and the tables.
const UNDER_WAY: f64 = 0.5;

impl Comparison<'_> {
    /// Goals 1, 2 and 6. Returns the highest settled rate, in clicks a second.
    pub(super) fn measure_clicks(&mut self) -> Result<f64> {
        let mut rounds = Rounds::default();
        for round in 1..=self.effort.rounds() {
            let step = Step::start(format_args!("Clicks, round {round}"));
            rounds.add("H", self.best("(H) constant", self.constant, None)?);
            let mut clicks = self.bench.clicks(Target::Spread);
            let baseline = self.closed("(R) baseline", self.baseline, FEW, &mut clicks)?;
            rounds.add("R", baseline.outcome.rate());
            // Accepting alone; the backlog is settled afterwards.
            self.bench.stop("worker")?;
            let accepted = self.best("accepted", self.ingest, Some("accepted click"))?;
            rounds.add("accepted", accepted);
            self.bench.start("worker", "worker")?;
            rounds.add("settled", self.settled()?);
            step.done("measured");
        }
        for (row, figure, other, least) in [
            ("1 clicks accepted", "accepted", "H", 0.5),
            ("1 clicks accepted, to the baseline", "accepted", "R", 14.0),
            ("2 clicks settled as they come", "settled", "H", 0.3),
        ] {
            self.report
                .add(rounds.row(row, figure, "/s", other, Goal::AtLeast(least)));
        }
        self.latency_of_clicks(&rounds)?;
        Ok(rounds.median("settled"))
    }

    /// The highest rate over the numbers of connections. `costs`: what its costs are reported as.
    fn best(&mut self, name: &str, address: SocketAddr, costs: Option<&str>) -> Result<f64> {
        let mut best = 0.0;
        for connections in CONNECTIONS {
            let mut clicks = self.bench.clicks(Target::Spread);
            let measured = self.closed(name, address, connections, &mut clicks)?;
            if measured.outcome.rate() > best {
                best = measured.outcome.rate();
                if let Some(what) = costs {
                    self.add_costs(what, &measured);
                }
            }
        }
        Ok(best)
    }

    /// At half of the baseline's rate, and at half of our settled and accepted rates; only the settled rate is
    /// sustainable.
    fn latency_of_clicks(&mut self, rates: &Rounds) -> Result<()> {
        let _step = Step::start("Latency of clicks");
        let mut rounds = Rounds::default();
        for _ in 0..self.effort.rounds() {
            self.tidy()?;
            for (name, figure, address) in [
                ("(R) baseline", "R", self.baseline),
                ("clicks", "ours", self.ingest),
            ] {
                let mut clicks = self.bench.clicks(Target::Spread);
                let half = self.open_loop(name, address, rates.median("R") / 2.0, &mut clicks)?;
                rounds.add(figure, half.answers.quantile(0.99));
            }
            for what in ["settled", "accepted"] {
                let mut clicks = self.bench.clicks(Target::Spread);
                let rate = rates.median(what) / 2.0;
                let half = self.open_loop("clicks", self.ingest, rate, &mut clicks)?;
                rounds.add(&format!("{what}: p99"), half.answers.quantile(0.99));
                rounds.add(&format!("{what}: p99.9"), half.answers.quantile(0.999));
                self.bench.settle()?;
            }
        }
        let name = "6 click at half of R's rate: p99";
        self.report
            .add(rounds.row(name, "ours", "ms", "R", Goal::AtMost(1.0)));
        for (figure, most) in [
            ("settled: p99", 5.0),
            ("settled: p99.9", 20.0),
            ("accepted: p99", 15.0),
            ("accepted: p99.9", 50.0),
        ] {
            let name = format!("6 click at half of what is {figure}");
            let row = Row::of(name, rounds.median(figure), "ms");
            self.report.add(row.goal(Goal::AtMost(most)));
        }
        self.bench.settle()
    }

    /// Searches for the highest rate at which clicks are stored as fast as they are accepted.
    ///
    /// Starts at the storing rate under unbounded load, and goes up while the backlog stays bounded, otherwise
    /// down.
    fn settled(&mut self) -> Result<f64> {
        self.bench.settle()?;
        let before = self.bench.stored_clicks()?;
        let mut clicks = self.bench.clicks(Target::Spread);
        let load = Load::closed(self.ingest, AT_ONCE, self.length());
        let outcome = self.bench.run(&load, &mut clicks)?.outcome;
        let stored = self.bench.stored_clicks()? - before;
        let mut rate = per_second(stored, outcome.lasted).min(outcome.rate());
        let mut best = 0.0;
        for _ in 0..TRIES {
            if self.holds(rate)? {
                best = rate;
                rate *= STEP;
            } else if best > 0.0 {
                break;
            } else {
                rate /= STEP;
            }
        }
        Ok(best)
    }

    /// Whether clicks are settled at this rate.
    fn holds(&mut self, rate: f64) -> Result<bool> {
        self.bench.settle()?;
        let before = self.bench.stored_clicks()?;
        let length = self.length();
        let mut clicks = self.bench.clicks(Target::Spread);
        let load = Load::open(self.ingest, AT_ONCE, rate, length);
        let outcome = self.bench.run(&load, &mut clicks)?.outcome;
        let stored = self.bench.stored_clicks()?;
        // Includes clicks that were accepted late.
        let late = outcome.lasted.saturating_sub(length).as_secs_f64();
        let behind = float((before + outcome.ok()).saturating_sub(stored)) + rate * late;
        note(format_args!(
            "settling {rate:.0} clicks a second: {behind:.0} under way at the end; {}",
            outcome.losses()
        ));
        Ok(outcome.lost() == 0 && behind <= rate * UNDER_WAY)
    }

    /// Goal 9: memory of the edge and the worker at the highest rate that is settled.
    pub(super) fn measure_memory(&mut self, settled: f64) -> Result<()> {
        let step = Step::start("Memory under load");
        let (pieces, seconds) = if self.effort.quick { (3, 5) } else { (20, 30) };
        let mut rounds = Rounds::default();
        for _ in 0..pieces {
            let mut clicks = self.bench.clicks(Target::Spread);
            let load = Load::open(self.ingest, MANY, settled, Duration::from_secs(seconds));
            self.bench.run(&load, &mut clicks)?;
            for (name, memory) in self.bench.memory() {
                rounds.add(name, memory.now);
            }
            // Only empties the streams: there is no backlog.
            self.bench.settle()?;
        }
        for (name, most) in [("ingest", 81.0), ("worker", 61.0)] {
            let samples = rounds.of(name);
            let peak = samples.iter().copied().fold(0.0, f64::max);
            let row = Row::of(format!("9 memory of {name}: peak"), peak, "MiB");
            self.report.add(row.goal(Goal::AtMost(most)));
            // The median of a quarter: a single sample depends on the queues at that moment.
            let quarters = samples.chunks(samples.len().div_ceil(4).max(1));
            let quarters: Vec<f64> = quarters.map(median).collect();
            let (Some(first), Some(last)) = (quarters.first(), quarters.last()) else {
                continue;
            };
            note(format_args!("{name}, MiB: {samples:.0?}"));
            let minutes = float(pieces * seconds) / 60.0;
            let name = format!("9 memory of {name}, last quarter of {minutes:.1} minutes");
            let row = Row::of(name, *last, "MiB");
            self.report
                .add(row.against("its first quarter", *first, Goal::AtMost(1.1)));
        }
        step.done("measured");
        Ok(())
    }
}
