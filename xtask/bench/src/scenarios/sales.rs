//! Sales: rate of answers, also for one partner only, latency, overload.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::Result;
use harness::progress::{Step, note};

use super::comparison::{Comparison, FEW, MANY};
use crate::load::Load;
use crate::outcome::{float, median, milliseconds};
use crate::report::{Goal, Rounds, Row};
use crate::requests::Target;

/// Concurrent calls under overload: more than the edge serves and queues (9 × 2,048), and fewer than a
/// process may open files (often 20,000).
const FAR_TOO_MANY: usize = 19_200;

/// Sales a second that never meet.
const APART: f64 = 40.0;
/// A sale waits for its claim, its message and its rows.
const FSYNCS: f64 = 3.0;

impl Comparison<'_> {
    /// Goals 3, 4, 5 and 12. Returns the highest rate, in sales a second.
    pub(super) fn measure_sales(&mut self) -> Result<f64> {
        let mut rounds = Rounds::default();
        for round in 1..=self.effort.rounds() {
            let step = Step::start(format_args!("Sales, round {round}"));
            self.tidy()?;
            let (baseline, baseline_hot) = (self.baseline, self.baseline_hot);
            for (name, figure, address, connections, target) in [
                ("(R) baseline", "R", baseline, FEW, Target::Spread),
                ("(R) baseline, hot", "R hot", baseline_hot, FEW, Target::Hot),
                ("sales", "spread", self.ingest, MANY, Target::Spread),
                ("sales", "few", self.ingest, FEW, Target::Spread),
                ("sales, hot", "hot", self.ingest, MANY, Target::Hot),
            ] {
                let mut sales = self.sales(target);
                let measured = self.closed(name, address, connections, &mut sales)?;
                if figure == "spread" {
                    self.add_costs("sale", &measured);
                }
                rounds.add(figure, measured.outcome.rate());
            }
            step.done("measured");
        }
        for (row, figure, other, least) in [
            ("3 sales, 1,000 at once, to the baseline", "spread", "R", 7.0),
            ("3 sales, 64 at once, to the baseline", "few", "R", 2.5),
            ("4 sales of one partner", "hot", "spread", 0.8),
            ("4 sales of one partner, to the baseline", "hot", "R hot", 6.0),
        ] {
            self.report
                .add(rounds.row(row, figure, "/s", other, Goal::AtLeast(least)));
        }
        self.report.set_goal("CPU per sale: postgres", Goal::AtMost(70.0));
        self.measure_lone_sales()?;
        let highest = rounds.median("spread");
        self.latency_of_sales(rounds.median("R"), highest)?;
        Ok(highest)
    }

    /// One sale at a time: what a batch costs, however small, and what a caller waits for at least.
    fn measure_lone_sales(&mut self) -> Result<()> {
        const LEAST: &str = "three fdatasyncs and 1 ms";
        let _step = Step::start("Sales one at a time");
        let mut rounds = Rounds::default();
        for _ in 0..self.effort.rounds() {
            let mut sales = self.sales(Target::Spread);
            let measured = self.closed("sales", self.ingest, 1, &mut sales)?;
            self.add_costs("lone sale", &measured);
            let synced = fdatasync(&self.bench.area.dir, self.length() / 4)?;
            let mut sales = self.sales(Target::Spread);
            let outcome = self.open_loop("sales", self.ingest, APART, &mut sales)?;
            rounds.add("ours", outcome.answers.quantile(0.5));
            rounds.add(LEAST, FSYNCS * synced + 1.0);
        }
        self.report
            .set_goal("CPU per lone sale: postgres", Goal::AtMost(400.0));
        let row = rounds.row("12 lone sale: p50", "ours", "ms", LEAST, Goal::AtMost(2.0));
        self.report.add(row);
        Ok(())
    }

    fn latency_of_sales(&mut self, baseline: f64, highest: f64) -> Result<()> {
        let _step = Step::start("Latency of sales");
        let mut rounds = Rounds::default();
        for _ in 0..self.effort.rounds() {
            for (name, figure, address, rate) in [
                ("(R) baseline", "R", self.baseline, baseline / 2.0),
                ("sales", "ours", self.ingest, baseline / 2.0),
                ("sales", "half", self.ingest, highest / 2.0),
            ] {
                let mut sales = self.sales(Target::Spread);
                let outcome = self.open_loop(name, address, rate, &mut sales)?;
                rounds.add(figure, outcome.answers.quantile(0.99));
                rounds.add(&format!("{figure}: p99.9"), outcome.answers.quantile(0.999));
            }
        }
        let name = "5 sale at half of R's rate: p99";
        self.report
            .add(rounds.row(name, "ours", "ms", "R", Goal::AtMost(1.0)));
        for (quantile, figure, most) in [("p99", "half", 20.0), ("p99.9", "half: p99.9", 50.0)] {
            let name = format!("5 sale at half of our rate: {quantile}");
            let row = Row::of(name, rounds.median(figure), "ms");
            self.report.add(row.goal(Goal::AtMost(most)));
        }
        Ok(())
    }

    /// Goal 10: three times the maximum rate.
    pub(super) fn overload(&mut self, highest: f64) -> Result<()> {
        let step = Step::start("Three times too many sales");
        let mut rounds = Rounds::default();
        // At least twice: the first overload opens new connections, and only the next one shows whether memory
        // grows.
        for _ in 0..self.effort.rounds().max(2) {
            self.bench.settle()?;
            let load = Load::open(self.ingest, FAR_TOO_MANY, 3.0 * highest, self.length());
            let mut sales = self.sales(Target::Spread);
            let outcome = self.bench.run(&load, &mut sales)?.outcome;
            let shed: u64 = outcome.answers.shed;
            rounds.add("goodput", outcome.rate());
            rounds.add("maximum", highest);
            // Dropped requests were never sent.
            rounds.add("unexplained", float(outcome.lost() - outcome.dropped - shed));
            let peaks = self.bench.memory().into_iter().map(|(_, memory)| memory.peak);
            rounds.add("peak", peaks.sum());
            note(format_args!(
                "{:.0}/s answered 200, {shed} shed with Retry-After; {}",
                outcome.rate(),
                outcome.losses()
            ));
        }
        let goodput = "10 sales answered at three times the maximum";
        self.report
            .add(rounds.row(goodput, "goodput", "/s", "maximum", Goal::AtLeast(0.85)));
        let row = Row::of("10 neither answered nor shed", rounds.median("unexplained"), "");
        self.report.add(row.goal(Goal::AtMost(0.0)));
        if let [first, .., last] = *rounds.of("peak") {
            let row = Row::of("10 memory of ingest and worker, overloaded again", last, "MiB");
            self.report
                .add(row.against("the first time's", first, Goal::AtMost(1.1)));
        }
        step.done("measured");
        self.bench.settle()
    }
}

/// Milliseconds that one `fdatasync` of a page takes on the disk of a directory, in the median.
fn fdatasync(dir: &Path, length: Duration) -> Result<f64> {
    let path = dir.join("fdatasync");
    let mut file = OpenOptions::new().create(true).append(true).open(&path)?;
    let page = [0_u8; 8192];
    let started = Instant::now();
    let mut took = Vec::new();
    while started.elapsed() < length {
        file.write_all(&page)?;
        let before = Instant::now();
        file.sync_data()?;
        took.push(milliseconds(before.elapsed()));
    }
    fs::remove_file(path)?;
    Ok(median(&took))
}
