//! Metrics of a consumer's batches.

use tokio::time::Instant;

use super::run_batch::Disposition;
use messages::subject::Subject;
use runtime::metrics::{
    Counter, DEAD_LETTERS_STORED, Histogram, RECORDS_SETTLED, REDELIVERED, STEP_RECORDS, STEP_SECONDS, to_f64,
};

#[derive(Debug)]
pub(super) struct ConsumeMetrics {
    records: Histogram,
    seconds: Histogram,
    done: Counter,
    later: Counter,
    isolated: Counter,
    redeliver: Counter,
    redelivered: Counter,
}

impl ConsumeMetrics {
    pub(super) fn of(subject: Subject) -> Self {
        let noun = subject.noun();
        // Creates the series with 0: Prometheus sees no growth in a series whose first value is a burst.
        DEAD_LETTERS_STORED.with([noun]);
        Self {
            records: STEP_RECORDS.with([noun]),
            seconds: STEP_SECONDS.with([noun]),
            done: RECORDS_SETTLED.with([noun, "done"]),
            later: RECORDS_SETTLED.with([noun, "later"]),
            isolated: RECORDS_SETTLED.with([noun, "apart"]),
            redeliver: RECORDS_SETTLED.with([noun, "redeliver"]),
            redelivered: REDELIVERED.with([noun]),
        }
    }

    pub(super) fn arrived(&self, deliveries: u32) {
        if deliveries > 1 {
            self.redelivered.inc();
        }
    }

    /// Call it as soon as a batch has ended.
    pub(super) fn settled(&self, started: Instant, dispositions: &[Disposition]) {
        self.seconds.observe(started.elapsed().as_secs_f64());
        self.records.observe(to_f64(dispositions.len()));
        for disposition in dispositions {
            match disposition {
                Disposition::Done => self.done.inc(),
                Disposition::Later => self.later.inc(),
                Disposition::Isolated => self.isolated.inc(),
                Disposition::Redeliver => self.redeliver.inc(),
            };
        }
    }
}
