//! From a batch to the fate of each record: run, retry, bisect, bury. No transport in it.
//!
//! - A transient error repeats the same records, a bounded number of times. If it persists, the cause lies outside
//!   the records (the store is down), so the rest of the batch is left for redelivery without being tried.
//! - A permanent error cuts the records in two and tries each half, until the one that fails stands alone and is
//!   buried. A batch of 512 with one bad record costs about 20 runs.
//! - A panic counts as a permanent error: it must cost its own record, not the worker.

use std::ops::Range;
use std::panic::AssertUnwindSafe;

use anyhow::anyhow;
use futures::FutureExt;
use tokio_util::sync::CancellationToken;

use super::queue::Batch;
use super::{DeadLetter, Delivered, Processed, Step, StepError, Verdict};
use crate::bus::reply::Reply;
use crate::runtime::crash_point::crash_point;
use crate::runtime::metrics::{DEAD_LETTERS_BURIED, STEP_FAILURES};
use crate::runtime::retry::{RetryPolicy, retry};

/// What becomes of one record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fate {
    Done,
    /// Offer it again in a following batch.
    Later,
    /// Give its whole message back for redelivery.
    Redeliver,
}

/// `fates` are in the order of the batch.
#[derive(Debug)]
pub(super) struct Settlement {
    pub(super) fates: Vec<Fate>,
    pub(super) replies: Vec<Reply>,
}

/// What every attempt shares.
#[derive(Debug)]
pub(super) struct Attempts<'a, S> {
    pub(super) step: &'a S,
    pub(super) subject: &'a str,
    pub(super) policy: &'a RetryPolicy,
    /// Once cancelled, nothing is tried again.
    pub(super) shutdown: &'a CancellationToken,
}

impl<S: Step> Attempts<'_, S> {
    pub(super) async fn settle(&self, batch: &Batch<S::Record>) -> Settlement {
        let mut settlement = Settlement {
            fates: vec![Fate::Redeliver; batch.records.len()],
            replies: Vec::new(),
        };
        let whole = 0..batch.records.len();
        let mut open = Vec::from_iter([whole]);
        while let Some(range) = open.pop() {
            let records = batch.records.get(range.clone()).unwrap_or_default();
            match self.run(records).await {
                Ok(processed) => settlement.accept(range, processed),
                Err(StepError::Transient(error)) => {
                    tracing::warn!(
                        subject = self.subject,
                        records = records.len(),
                        error = format!("{error:#}"),
                        "giving up for now"
                    );
                    break;
                }
                Err(StepError::Permanent(error)) if records.len() == 1 => {
                    let fate = self.bury_record(batch, range.start, &error).await;
                    settlement.set(range.start, fate);
                }
                Err(StepError::Permanent(_)) => {
                    let middle = range.start + range.len() / 2;
                    // The front half is on top of the stack: records keep their order.
                    open.push(middle..range.end);
                    open.push(range.start..middle);
                }
            }
        }
        settlement
    }

    async fn run(&self, records: &[Delivered<S::Record>]) -> Result<Processed, StepError> {
        let processed = retry(
            self.policy,
            || self.run_once(records),
            |error| self.may_retry(error),
        )
        .await?;
        crash_point("worker.after_commit");
        Ok(processed)
    }

    async fn run_once(&self, records: &[Delivered<S::Record>]) -> Result<Processed, StepError> {
        let run = AssertUnwindSafe(self.step.run(records)).catch_unwind();
        let result = run
            .await
            .unwrap_or_else(|_| Err(StepError::Permanent(anyhow!("step panicked"))));
        if let Err(error) = &result {
            STEP_FAILURES.with([S::SUBJECT.noun(), error.kind()]).inc();
        }
        result
    }

    async fn bury_record(&self, batch: &Batch<S::Record>, index: usize, error: &anyhow::Error) -> Fate {
        let (Some(delivered), Some(origin)) = (batch.records.get(index), batch.origins.get(index)) else {
            return Fate::Redeliver;
        };
        let letter = DeadLetter::record(
            self.subject,
            &origin.raw,
            format!("{error:#}"),
            delivered.deliveries,
        );
        if self.bury(letter).await {
            Fate::Done
        } else {
            Fate::Redeliver
        }
    }

    /// `true` once the letter is stored; until then its message must not be acknowledged.
    pub(super) async fn bury(&self, letter: DeadLetter) -> bool {
        let DeadLetter {
            event_id,
            reason,
            deliveries,
            ..
        } = &letter;
        tracing::error!(
            subject = self.subject,
            ?event_id,
            reason,
            deliveries,
            "burying a record"
        );
        let buried = retry(
            self.policy,
            || self.step.bury(letter.clone()),
            |error| self.may_retry(error),
        )
        .await;
        if buried.is_ok() {
            DEAD_LETTERS_BURIED.with([S::SUBJECT.noun()]).inc();
        }
        if let Err(StepError::Transient(error) | StepError::Permanent(error)) = &buried {
            tracing::error!(
                subject = self.subject,
                error = format!("{error:#}"),
                "cannot bury"
            );
        }
        buried.is_ok()
    }

    fn may_retry(&self, error: &StepError) -> bool {
        matches!(error, StepError::Transient(_)) && !self.shutdown.is_cancelled()
    }
}

impl Settlement {
    fn accept(&mut self, range: Range<usize>, Processed { verdicts, replies }: Processed) {
        let Some(fates) = self
            .fates
            .get_mut(range)
            .filter(|fates| fates.len() == verdicts.len())
        else {
            // It committed, but which verdict is whose? Redelivery is harmless, losing a record is not.
            tracing::error!(verdicts = verdicts.len(), "verdicts do not match the records");
            return;
        };
        for (fate, verdict) in fates.iter_mut().zip(verdicts) {
            *fate = match verdict {
                Verdict::Done => Fate::Done,
                Verdict::Later => Fate::Later,
            };
        }
        self.replies.extend(replies);
    }

    fn set(&mut self, index: usize, fate: Fate) {
        if let Some(slot) = self.fates.get_mut(index) {
            *slot = fate;
        }
    }
}

#[cfg(test)]
#[path = "settle_tests.rs"]
mod tests;
