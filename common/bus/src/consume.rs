//! The consume loop.
//!
//! Phases of a batch:
//!
//! 1. *fetch*: a task pulls messages into a bounded buffer, without pause ([`fetch`], [`pull`]);
//! 2. *merge*: all waiting records, up to `max_records`, become one batch, together with postponed records
//!    that are due. This makes a worker fast: a transaction costs the same for one record as for hundreds.
//!    Steps whose callers wait for no outcome also pace small batches ([`Step::PACE`]);
//! 3. *open*: envelopes are split into records ([`intake`]); unreadable ones become dead letters;
//! 4. *run*: the step settles the batch in one transaction ([`run_batch`]: retry, division, dead letters);
//! 5. *reply*: outcomes go to the reply inboxes, packed, as soon as they are committed;
//! 6. *ack*: a message is acknowledged once all its records are done ([`in_flight`]).
//!
//! A task of its own runs phases 4 and 5, while the loop continues with 1 to 3: when the transaction ends,
//! the next batch is ready. While few records wait, one batch runs at a time, so that records gather. With
//! many, two batches run concurrently ([`runtime::batch::schedule`]). A record is blocked when a lock, a key
//! or a timeout stops it although the store works. It is isolated: it is retried alone, beside the batches,
//! until it succeeds.
//!
//! Bounds: the fetch buffer's bytes and messages, `max_records` a batch, two concurrent batches, one isolated
//! record beside them, `max_later` postponed and isolated records, and the consumer's `max_ack_pending` over
//! all workers. All messages in flight are reported in progress ([`pending_ack`]), so that a slow message is
//! not redelivered to another worker.
//!
//! Ordering: records enter batches in stream order, but two concurrent batches may end in either order. After
//! a crash, a lost ack or an outage, a record may arrive again and out of order. Any ack may be lost, so
//! every effect must be idempotent by a key in the store.
//!
//! The number of deliveries alone never makes a message a dead letter; only a permanent error does. An
//! envelope of a newer release is left for a newer worker for an hour; then it becomes a dead letter.

mod bounds;
mod fetch;
mod in_flight;
mod intake;
mod metrics;
#[cfg(test)]
mod pace_tests;
mod pending_ack;
mod pull;
mod queue;
mod run_batch;
mod step;

use std::sync::Arc;
use std::time::Duration;

use async_nats::Client;
use async_nats::jetstream::{AckKind, Context};
use tokio::sync::mpsc;
use tokio::task::{JoinError, JoinSet};
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

pub use self::bounds::ConsumeBounds;
use self::fetch::{Arrived, Fetcher};
use self::in_flight::{Admission, InFlightMessages};
use self::intake::{Opened, Read};
use self::metrics::ConsumeMetrics;
use self::pending_ack::{PendingAck, PendingAcks};
use self::queue::{Batch, Item, Origin, Queue};
use self::run_batch::{Attempts, Disposition};
pub use self::step::{DeadLetter, Delivered, Processed, Step, StepError, Verdict};
use super::reply::{Reply, send_replies};
use super::topology::Topology;
use messages::subject::Subject;
use runtime::batch::schedule::{Schedule, Waiting};
use runtime::crash_point::crash_point;
use runtime::lifecycle::Lifecycle;
use runtime::retry::RetryPolicy;
use runtime::trace;

/// Why consuming ended without a shutdown.
#[derive(Debug, thiserror::Error)]
#[error("the task that {task} {subject} has ended")]
pub struct ConsumeError {
    task: &'static str,
    subject: Subject,
}

/// Consumes `S::SUBJECT` until a soft cancel. Then it finishes the running batches and gives all other
/// messages back for other workers. Several loops may share a subject, in one process or in many.
pub async fn consume<S: Step>(
    step: Arc<S>,
    jetstream: Context,
    client: Client,
    topology: &Topology,
    lifecycle: &Lifecycle,
    bounds: ConsumeBounds,
) -> Result<(), ConsumeError> {
    let pending_acks = Arc::new(PendingAcks::default());
    let (fetcher, incoming) =
        Fetcher::new(jetstream, topology.clone(), S::SUBJECT, Arc::clone(&pending_acks));
    // Fetching also ends when this function returns or is dropped.
    let fetching = lifecycle.soft().child_token();
    let _stop_fetching = fetching.clone().drop_guard();
    lifecycle.tasks().spawn(fetcher.run(fetching));

    // Ends only after all messages have been given back.
    let keeping_alive = CancellationToken::new();
    let _stop_keeping_alive = keeping_alive.clone().drop_guard();
    lifecycle
        .tasks()
        .spawn(pending_acks.keep_alive(topology.ack_wait, keeping_alive));

    let work = Work {
        step,
        client,
        subject: topology.subject(S::SUBJECT),
        retry: bounds.retry.clone(),
        shutdown: lifecycle.soft().clone(),
        metrics: ConsumeMetrics::of(S::SUBJECT),
    };
    let consumer = Consumer {
        work: Arc::new(work),
        schedule: Schedule::new(Instant::now(), bounds.rules(S::PACE)),
        bounds,
        incoming,
        in_flight: InFlightMessages::new(),
        queue: Queue::new(),
        running: JoinSet::new(),
        isolated_running: false,
    };
    lifecycle
        .hard()
        .run_until_cancelled(consumer.run())
        .await
        .unwrap_or(Ok(()))
}

/// Shared by the loop and its batches.
struct Work<S> {
    step: Arc<S>,
    client: Client,
    subject: String,
    retry: RetryPolicy,
    shutdown: CancellationToken,
    metrics: ConsumeMetrics,
}

/// A batch that has run, with the dispositions of its records.
struct FinishedBatch<R> {
    batch: Batch<R>,
    dispositions: Vec<Disposition>,
    /// The batch was one isolated record.
    isolated: bool,
}

impl<S: Step> Work<S> {
    async fn run_batch(self: Arc<Self>, batch: Batch<S::Record>, isolated: bool) -> FinishedBatch<S::Record> {
        let started = Instant::now();
        let records = batch.origins.iter().map(|origin| &*origin.raw);
        let mut traces = trace::Batch::begin(S::SUBJECT.noun(), records);
        let (answers, committed) = mpsc::channel(1);
        let attempts = self.attempts();
        let (dispositions, ()) = tokio::join!(attempts.run_batch(&batch, answers), self.answer(committed));
        traces.end_transactions();
        traces.redelivered(
            dispositions
                .iter()
                .filter(|disposition| **disposition == Disposition::Redeliver)
                .count(),
        );
        self.metrics.settled(started, &dispositions);
        crash_point("worker.before_ack");
        FinishedBatch {
            batch,
            dispositions,
            isolated,
        }
    }

    async fn answer(&self, mut committed: mpsc::Receiver<Vec<Reply>>) {
        while let Some(replies) = committed.recv().await {
            if let Err(error) = send_replies(&self.client, replies).await {
                tracing::warn!(subject = self.subject, %error, "sending outcomes failed");
            }
        }
    }

    fn attempts(&self) -> Attempts<'_, S> {
        Attempts {
            step: &self.step,
            subject: &self.subject,
            policy: &self.retry,
            shutdown: &self.shutdown,
        }
    }
}

struct Consumer<S: Step> {
    work: Arc<Work<S>>,
    bounds: ConsumeBounds,
    incoming: mpsc::Receiver<Arrived>,
    in_flight: InFlightMessages<PendingAck>,
    queue: Queue<S::Record>,
    running: JoinSet<FinishedBatch<S::Record>>,
    /// One of the running batches is an isolated record.
    isolated_running: bool,
    schedule: Schedule,
}

impl<S: Step> Consumer<S> {
    async fn run(mut self) -> Result<(), ConsumeError> {
        let shutdown = self.work.shutdown.clone();
        while !shutdown.is_cancelled() {
            self.take_in().await;
            self.begin_batches();
            let takes_fresh = self.takes_fresh();
            let wakes_at = self.wakes_at();
            tokio::select! {
                () = shutdown.cancelled() => {}
                Some(finished) = self.running.join_next() => self.apply(finished).await?,
                arrived = self.incoming.recv(), if takes_fresh => match arrived {
                    Some(arrived) => self.admit(arrived).await,
                    None if shutdown.is_cancelled() => {}
                    None => return Err(ended::<S>("fetches")),
                },
                () = sleep_until(wakes_at.unwrap_or_else(Instant::now)), if wakes_at.is_some() => {}
            }
        }
        self.finish().await
    }

    /// Admits everything that has arrived, within the bounds.
    async fn take_in(&mut self) {
        while self.takes_fresh() {
            let Ok(arrived) = self.incoming.try_recv() else {
                break;
            };
            self.admit(arrived).await;
        }
    }

    fn takes_fresh(&self) -> bool {
        self.queue.later() + self.queue.isolated() < self.bounds.max_later
            && self.queue.fresh() < self.bounds.max_records
    }

    fn wakes_at(&self) -> Option<Instant> {
        let isolated = self.queue.isolated_due().filter(|_| !self.isolated_running);
        let others = self.schedule.wakes_at(self.waiting());
        isolated.into_iter().chain(others).min()
    }

    fn begin_batches(&mut self) {
        let now = Instant::now();
        while self.schedule.may_start(now, self.waiting()) {
            let batch = self.queue.take(now, self.bounds.max_records);
            self.schedule.began(now, batch.records.len());
            self.running.spawn(Arc::clone(&self.work).run_batch(batch, false));
        }
        if !self.isolated_running
            && let Some(batch) = self.queue.take_isolated(now)
        {
            self.isolated_running = true;
            self.running.spawn(Arc::clone(&self.work).run_batch(batch, true));
        }
    }

    fn waiting(&self) -> Waiting {
        Waiting {
            fresh: self.queue.fresh(),
            next_due: self.queue.next_due(),
            callers: usize::MAX,
            running: self.running.len() - usize::from(self.isolated_running),
        }
    }

    async fn admit(
        &mut self,
        Arrived {
            message,
            deliveries,
            payload,
            pending_ack,
            ..
        }: Arrived,
    ) {
        let Some(pending_ack) = self.in_flight.renew(message, pending_ack) else {
            return;
        };
        self.work.metrics.arrived(deliveries);
        match intake::open::<S::Record>(&payload, deliveries) {
            Opened::Records { records, .. } if records.is_empty() => {
                pending_ack.acknowledge(AckKind::Ack).await;
            }
            Opened::Records { reply_to, records } => {
                let admission = self.in_flight.admit(message, pending_ack, records.len());
                self.admit_records(admission, deliveries, reply_to.as_ref(), records)
                    .await;
            }
            Opened::TooNew { version } => {
                tracing::error!(
                    subject = self.work.subject,
                    version,
                    "leaving a message to a newer release"
                );
                pending_ack
                    .acknowledge(AckKind::Nak(Some(intake::TOO_NEW_DELAY)))
                    .await;
            }
            Opened::Garbage { reason } => {
                let letter = DeadLetter {
                    subject: self.work.subject.clone(),
                    payload,
                    event_id: None,
                    reason,
                    deliveries,
                };
                let stored = self.work.attempts().dead_letter(letter).await;
                let kind = if stored { AckKind::Ack } else { redeliver() };
                pending_ack.acknowledge(kind).await;
            }
        }
    }

    async fn admit_records(
        &mut self,
        admission: Admission,
        deliveries: u32,
        reply_to: Option<&Arc<str>>,
        records: Vec<Read<S::Record>>,
    ) {
        for Read { raw, record } in records {
            match record {
                Ok(record) => {
                    let delivered = Delivered {
                        record,
                        reply_to: reply_to.cloned(),
                        deliveries,
                        stored_at: admission.stored_at(),
                        postponed: false,
                    };
                    self.queue.push(Item {
                        origin: Origin { admission, raw },
                        delivered,
                    });
                }
                Err(reason) => {
                    let letter = DeadLetter::record(&self.work.subject, &raw, reason, deliveries);
                    if self.work.attempts().dead_letter(letter).await {
                        self.done(admission).await;
                    } else {
                        return self.give_back(admission).await;
                    }
                }
            }
        }
    }

    async fn apply(
        &mut self,
        finished: Result<FinishedBatch<S::Record>, JoinError>,
    ) -> Result<(), ConsumeError> {
        let FinishedBatch {
            batch,
            dispositions,
            isolated,
        } = finished.map_err(|_| ended::<S>("settles"))?;
        self.isolated_running &= !isolated;
        // Redeliveries come first. Then no other record of such a message is marked as done or queued again.
        for (origin, disposition) in batch.origins.iter().zip(&dispositions) {
            if *disposition == Disposition::Redeliver {
                self.give_back(origin.admission).await;
            }
        }
        let due = Instant::now() + self.bounds.later_delay;
        for ((mut delivered, origin), disposition) in
            batch.records.into_iter().zip(batch.origins).zip(dispositions)
        {
            match disposition {
                Disposition::Done => self.done(origin.admission).await,
                Disposition::Later if self.in_flight.holds(origin.admission) => {
                    delivered.postponed = true;
                    self.queue.push_later(due, Item { origin, delivered });
                }
                Disposition::Isolated if self.in_flight.holds(origin.admission) => {
                    self.queue.push_isolated(rest(), Item { origin, delivered });
                }
                Disposition::Later | Disposition::Isolated | Disposition::Redeliver => {}
            }
        }
        Ok(())
    }

    async fn done(&mut self, admission: Admission) {
        if let Some(pending_ack) = self.in_flight.done(admission) {
            pending_ack.acknowledge(AckKind::Ack).await;
        }
    }

    async fn give_back(&mut self, admission: Admission) {
        if let Some(pending_ack) = self.in_flight.release(admission) {
            self.queue.forget(admission);
            pending_ack.acknowledge(redeliver()).await;
        }
    }

    /// At shutdown, waits for running batches and starts no new ones.
    async fn finish(mut self) -> Result<(), ConsumeError> {
        while let Some(finished) = self.running.join_next().await {
            self.apply(finished).await?;
        }
        self.hand_back().await;
        Ok(())
    }

    /// Gives messages back, so that other workers need not wait for the ack timeout.
    async fn hand_back(mut self) {
        // This waits until the fetcher has ended: a fetcher that still pulls would receive the messages
        // again.
        let mut pending_acks: Vec<PendingAck> = Vec::new();
        while let Some(arrived) = self.incoming.recv().await {
            pending_acks.push(arrived.pending_ack);
        }
        pending_acks.extend(self.in_flight.release_all());
        for pending_ack in pending_acks {
            pending_ack.acknowledge(AckKind::Nak(None)).await;
        }
        if let Err(error) = self.work.client.flush().await {
            tracing::debug!(%error, "cannot flush");
        }
    }
}

const fn ended<S: Step>(task: &'static str) -> ConsumeError {
    ConsumeError {
        task,
        subject: S::SUBJECT,
    }
}

/// A random delay of one to two seconds: messages that failed together must not return together.
fn redeliver() -> AckKind {
    AckKind::Nak(Some(Duration::from_millis(rand::random_range(1_000..2_000))))
}

/// When an isolated record is tried again. A try spends most of its time waiting for the lock that blocks the
/// record, so the record succeeds soon after that lock is free.
fn rest() -> Instant {
    Instant::now() + Duration::from_millis(rand::random_range(200..400))
}
