//! Determines the disposition of each record of a batch: run, retry, divide, dead-letter. Depends on no
//! transport.
//!
//! - A transient error repeats the same records, a limited number of times. If it persists, its cause lies
//!   outside the records (the store is down), so the rest of the batch is left for redelivery without being
//!   tried.
//! - A permanent error divides the records and tries each part, until a single record fails and becomes a
//!   dead letter.
//! - A blocked run ([`StepError::Blocked`]) is repeated once and then divided too, without dead letters. In
//!   the end the blocked record is isolated and from then on runs alone. Each blocked run may last as long as
//!   the lock timeout, so parts are small, their number is limited, and records that succeed are answered at
//!   once.
//! - A panic counts as a permanent error: it must cost its own record, not the worker.
//!
//! A batch of 512 with one bad record takes about 25 runs, of which 4 fail.

use std::collections::VecDeque;
use std::ops::Range;
use std::panic::AssertUnwindSafe;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::anyhow;
use futures::FutureExt;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::queue::Batch;
use super::step::{DeadLetter, Delivered, Processed, Step, StepError, Verdict};
use crate::reply::Reply;
use runtime::crash_point::crash_point;
use runtime::metrics::{DEAD_LETTERS_STORED, STEP_FAILURES};
use runtime::retry::{RetryPolicy, retry};

/// What happens to one record of a batch that has run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Disposition {
    Done,
    /// Offer it again in a following batch.
    Later,
    /// The record was blocked. It is retried alone, because it would delay a whole batch.
    Isolated,
    /// Give its whole message back for redelivery.
    Redeliver,
}

/// Number of parts of a divided batch. Parts that succeed are fast and a blocked one is slow; three levels
/// find one record of 512.
const PARTS: usize = 8;

/// Limit of blocked runs per batch: each waits for a lock. The rest is redelivered.
const BLOCKED_RUNS: usize = 24;

/// Shared by all attempts.
#[derive(Debug)]
pub(super) struct Attempts<'a, S> {
    pub(super) step: &'a S,
    pub(super) subject: &'a str,
    pub(super) policy: &'a RetryPolicy,
    /// Once cancelled, nothing is retried.
    pub(super) shutdown: &'a CancellationToken,
}

impl<S: Step> Attempts<'_, S> {
    /// The dispositions have the order of the batch. `answers` receives the replies of each part as soon as
    /// it is committed.
    pub(super) async fn run_batch(
        &self,
        batch: &Batch<S::Record>,
        answers: mpsc::Sender<Vec<Reply>>,
    ) -> Vec<Disposition> {
        let mut dispositions = Dispositions::of(batch.records.len());
        let mut open = VecDeque::new();
        open.push_back(0..batch.records.len());
        let mut blocked = Blocked::default();
        while let Some(range) = open.pop_front() {
            let records = batch.records.get(range.clone()).unwrap_or_default();
            match self.run(records).await {
                Ok(processed) => {
                    blocked.passed = true;
                    let replies = dispositions.accept(range, processed);
                    if answers.send(replies).await.is_err() {
                        tracing::warn!(subject = self.subject, "outcomes dropped: reply task ended");
                    }
                }
                Err(StepError::Transient(error)) => {
                    self.give_up(records, &error);
                    break;
                }
                Err(StepError::Permanent(error)) if records.len() == 1 => {
                    dispositions.set(
                        range.start,
                        self.dead_letter_record(batch, range.start, &error).await,
                    );
                }
                // At the front, so that records keep their order.
                Err(StepError::Permanent(_)) => parts(&range).rev().for_each(|part| open.push_front(part)),
                Err(StepError::Blocked(error)) => {
                    blocked.runs += 1;
                    if blocked.is_everything() || self.shutdown.is_cancelled() {
                        self.give_up(records, &error);
                        break;
                    }
                    if records.len() == 1 {
                        self.give_up(records, &error);
                        dispositions.set(range.start, Disposition::Isolated);
                    } else {
                        // At the back, so that records that can succeed do so before the next wait for a
                        // lock.
                        open.extend(parts(&range));
                    }
                }
            }
        }
        dispositions.0
    }

    fn give_up(&self, records: &[Delivered<S::Record>], error: &anyhow::Error) {
        tracing::warn!(
            subject = self.subject,
            records = records.len(),
            error = format!("{error:#}"),
            "batch left for redelivery"
        );
    }

    async fn run(&self, records: &[Delivered<S::Record>]) -> Result<Processed, StepError> {
        // Two batches that deadlocked rarely do so again, so one retry of the whole batch is worthwhile.
        let once_more = AtomicBool::new(records.len() > 1);
        let processed = retry(
            self.policy,
            || self.run_once(records),
            |error| match error {
                StepError::Blocked(_) => {
                    once_more.swap(false, Ordering::Relaxed) && !self.shutdown.is_cancelled()
                }
                StepError::Transient(_) | StepError::Permanent(_) => self.may_retry(error),
            },
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

    async fn dead_letter_record(
        &self,
        batch: &Batch<S::Record>,
        index: usize,
        error: &anyhow::Error,
    ) -> Disposition {
        let (Some(delivered), Some(origin)) = (batch.records.get(index), batch.origins.get(index)) else {
            return Disposition::Redeliver;
        };
        let letter = DeadLetter::record(
            self.subject,
            &origin.raw,
            format!("{error:#}"),
            delivered.deliveries,
        );
        if self.dead_letter(letter).await {
            Disposition::Done
        } else {
            Disposition::Redeliver
        }
    }

    /// Returns `true` once the letter is stored. Until then its message must not be acknowledged.
    pub(super) async fn dead_letter(&self, letter: DeadLetter) -> bool {
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
            "record dead-lettered"
        );
        let stored = retry(
            self.policy,
            || self.step.dead_letter(letter.clone()),
            |error| self.may_retry(error),
        )
        .await;
        if stored.is_ok() {
            DEAD_LETTERS_STORED.with([S::SUBJECT.noun()]).inc();
        }
        if let Err(StepError::Transient(error) | StepError::Blocked(error) | StepError::Permanent(error)) =
            &stored
        {
            tracing::error!(
                subject = self.subject,
                error = format!("{error:#}"),
                "dead letter not stored"
            );
        }
        stored.is_ok()
    }

    fn may_retry(&self, error: &StepError) -> bool {
        !matches!(error, StepError::Permanent(_)) && !self.shutdown.is_cancelled()
    }
}

/// Splits a range into parts of about the same size, in order; a small range into single records.
fn parts(range: &Range<usize>) -> impl DoubleEndedIterator<Item = Range<usize>> + use<> {
    let Range { start, end } = *range;
    let size = range.len().div_ceil(PARTS);
    (0..range.len().div_ceil(size)).map(move |part| {
        let begin = start + part * size;
        begin..end.min(begin + size)
    })
}

/// The blocked runs of one batch.
#[derive(Debug, Default)]
struct Blocked {
    runs: usize,
    /// Some records of the batch were settled.
    passed: bool,
}

impl Blocked {
    /// If no part succeeds, the cause lies outside the records: a whole table is locked.
    const fn is_everything(&self) -> bool {
        self.runs > BLOCKED_RUNS || (self.runs > PARTS && !self.passed)
    }
}

/// The disposition of each record of a batch. A record without a verdict is redelivered.
#[derive(Debug)]
struct Dispositions(Vec<Disposition>);

impl Dispositions {
    fn of(records: usize) -> Self {
        Self(vec![Disposition::Redeliver; records])
    }

    /// Returns the replies.
    fn accept(&mut self, range: Range<usize>, Processed { verdicts, replies }: Processed) -> Vec<Reply> {
        let Some(dispositions) = self
            .0
            .get_mut(range)
            .filter(|dispositions| dispositions.len() == verdicts.len())
        else {
            // The batch is committed, but the verdicts cannot be assigned. Redelivery is harmless; losing a
            // record is not.
            tracing::error!(verdicts = verdicts.len(), "verdicts do not match the records");
            return Vec::new();
        };
        for (disposition, verdict) in dispositions.iter_mut().zip(verdicts) {
            *disposition = match verdict {
                Verdict::Done => Disposition::Done,
                Verdict::Later => Disposition::Later,
            };
        }
        replies
    }

    fn set(&mut self, index: usize, disposition: Disposition) {
        if let Some(slot) = self.0.get_mut(index) {
            *slot = disposition;
        }
    }
}

#[cfg(test)]
mod tests;
