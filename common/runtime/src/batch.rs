//! Natural batching: requests that arrive while a batch runs form the next one.
//!
//! Phases of a request: it queues; a batch forms from all queued requests as soon as the [`schedule`] lets it
//! begin; the batch runs in a task of its own; each submitter gets its answer. While batches run, the next one
//! collects. At low load a batch is one request and costs no extra delay. At high load batches grow until the
//! cost per request is small.
//!
//! Requests come in groups: when a batch ends, all of its callers get their answers and send their next
//! requests together. A small batch therefore lets other tasks run before it starts, for as long as more
//! requests join. Otherwise the first request of a group would form a batch alone, and the rest would wait
//! for it.
//!
//! Bounds: `queue` requests wait, `max_records` and `max_weight` limit a batch, `in_flight` batches run. A
//! request heavier than `max_weight` gets a batch of its own.
//!
//! Ordering: requests enter batches in the order of submission, and answers are matched by position. With
//! `in_flight` above one, two batches may finish in either order.
//!
//! A submitter that stops waiting (its client disconnected) cancels nothing: the batch belongs to its task.

pub mod schedule;

use std::fmt;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::{mpsc, oneshot};
use tokio::task::{JoinSet, yield_now};
use tokio::time::{Instant, sleep_until};
use tokio_util::task::TaskTracker;

use self::schedule::{Rules, Schedule, Waiting};
use super::metrics::{BATCH_RECORDS, BATCH_REFUSED, BATCH_SECONDS, Counter, to_f64};

#[derive(Debug, Clone, Copy)]
pub struct Bounds {
    /// Names the batcher in metrics.
    pub name: &'static str,
    pub queue: usize,
    pub max_records: usize,
    /// In the unit of the `weigh` function, commonly bytes.
    pub max_weight: usize,
    pub in_flight: usize,
    /// See [`Rules::pace`].
    pub pace: Duration,
}

impl Bounds {
    fn rules(&self) -> Rules {
        Rules {
            at_once: self.in_flight,
            beside: 1..=self.max_records,
            max_records: self.max_records,
            pace: self.pace,
        }
    }
}

/// A small batch starts after this many turns without another request. In each turn other tasks run and
/// arrived bytes are read. Takes some microseconds on an idle machine.
const QUIET_TURNS: u32 = 4;

/// Why a request got no answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SubmitError {
    /// The queue is full. The request was not run.
    #[error("queue is full")]
    Overloaded,
    /// The batch ended without an answer (panic, or the batcher ended). It may have taken effect.
    #[error("batch ended without an answer")]
    Closed,
}

#[derive(Debug, thiserror::Error)]
pub enum BatchError<E> {
    #[error(transparent)]
    Submit(#[from] SubmitError),
    /// The batch ran and failed; the error says what took effect.
    #[error("batch failed: {0}")]
    Failed(Arc<E>),
}

impl<E> BatchError<E> {
    pub fn failed(error: E) -> Self {
        Self::Failed(Arc::new(error))
    }

    /// The queue was full; the request was not run.
    pub const fn is_overload(&self) -> bool {
        matches!(self, Self::Submit(SubmitError::Overloaded))
    }
}

/// By hand, because `E` need not be `Clone`: the error is shared.
impl<E> Clone for BatchError<E> {
    fn clone(&self) -> Self {
        match self {
            Self::Submit(error) => Self::Submit(*error),
            Self::Failed(error) => Self::Failed(Arc::clone(error)),
        }
    }
}

/// Submits requests. The batcher finishes its queue and ends when the last handle is dropped.
pub struct Batcher<Req, Res> {
    queue: mpsc::Sender<Queued<Req, Res>>,
    refused: Counter,
}

struct Queued<Req, Res> {
    request: Req,
    answer: oneshot::Sender<Res>,
}

impl<Req, Res> Clone for Batcher<Req, Res> {
    fn clone(&self) -> Self {
        Self {
            queue: self.queue.clone(),
            refused: self.refused.clone(),
        }
    }
}

impl<Req, Res> fmt::Debug for Batcher<Req, Res> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Batcher")
            .field("capacity", &self.queue.capacity())
            .finish_non_exhaustive()
    }
}

impl<Req, Res> Batcher<Req, Res>
where
    Req: Send + 'static,
    Res: Send + 'static,
{
    /// Starts a batcher on `tasks`. `run` must return one answer per request, in order. If the number differs
    /// or `run` panics, the batch's submitters get [`SubmitError::Closed`]; later batches are unaffected.
    pub fn spawn<F>(
        tasks: &TaskTracker,
        bounds: Bounds,
        weigh: fn(&Req) -> usize,
        run: impl Fn(Vec<Req>) -> F + Send + 'static,
    ) -> Self
    where
        F: Future<Output = Vec<Res>> + Send + 'static,
    {
        Self::spawn_among(tasks, bounds, || usize::MAX, weigh, run)
    }

    /// Starts a batcher that knows the number of its `callers`: those that wait for it or for a later stage.
    pub fn spawn_among<F>(
        tasks: &TaskTracker,
        bounds: Bounds,
        callers: impl Fn() -> usize + Send + 'static,
        weigh: fn(&Req) -> usize,
        run: impl Fn(Vec<Req>) -> F + Send + 'static,
    ) -> Self
    where
        F: Future<Output = Vec<Res>> + Send + 'static,
    {
        let (queue, waiting) = mpsc::channel(bounds.queue.max(1));
        let collector = Collector {
            waiting,
            overflow: None,
            schedule: Schedule::new(Instant::now(), bounds.rules()),
            running: JoinSet::new(),
            bounds,
            callers: Box::new(callers),
            weigh,
        };
        tasks.spawn(dispatch(collector, run));
        let refused = BATCH_REFUSED.with([bounds.name]);
        Self { queue, refused }
    }

    /// Queues a request and waits for its answer. Dropping the future does not withdraw the request.
    pub async fn submit(&self, request: Req) -> Result<Res, SubmitError> {
        let (answer, answered) = oneshot::channel();
        self.queue
            .try_send(Queued { request, answer })
            .map_err(|error| match error {
                TrySendError::Full(_) => {
                    self.refused.inc();
                    SubmitError::Overloaded
                }
                TrySendError::Closed(_) => SubmitError::Closed,
            })?;
        answered.await.map_err(|_| SubmitError::Closed)
    }
}

async fn dispatch<Req, Res, F>(
    mut collector: Collector<Req, Res>,
    run: impl Fn(Vec<Req>) -> F + Send + 'static,
) where
    Req: Send + 'static,
    Res: Send + 'static,
    F: Future<Output = Vec<Res>> + Send + 'static,
{
    let name = collector.bounds.name;
    let (sizes, seconds) = (BATCH_RECORDS.with([name]), BATCH_SECONDS.with([name]));
    while let Some(Forming {
        requests, answers, ..
    }) = collector.next_batch().await
    {
        let (started, expected) = (Instant::now(), answers.len());
        tracing::trace!(batcher = name, records = expected, "batch");
        sizes.observe(to_f64(expected));
        collector.schedule.began(started, expected);
        let (seconds, batch) = (seconds.clone(), run(requests));
        collector.running.spawn(async move {
            let results = batch.await;
            seconds.observe(started.elapsed().as_secs_f64());
            if results.len() != expected {
                tracing::error!(
                    batcher = name,
                    expected,
                    got = results.len(),
                    "answers do not match requests"
                );
                return;
            }
            for (answer, result) in answers.into_iter().zip(results) {
                // A submitter that stopped waiting is no error.
                let _ = answer.send(result);
            }
        });
    }
    // The submitters of a batch that panicked get no answer; that is its only consequence.
    while collector.running.join_next().await.is_some() {}
}

/// A batch that has not started yet.
struct Forming<Req, Res> {
    requests: Vec<Req>,
    answers: Vec<oneshot::Sender<Res>>,
    weight: usize,
}

impl<Req, Res> Forming<Req, Res> {
    fn new(first: Queued<Req, Res>, weigh: fn(&Req) -> usize) -> Self {
        Self {
            weight: weigh(&first.request),
            requests: vec![first.request],
            answers: vec![first.answer],
        }
    }
}

struct Collector<Req, Res> {
    waiting: mpsc::Receiver<Queued<Req, Res>>,
    /// A request from the queue that was too heavy for the last batch. It opens the next one.
    overflow: Option<Queued<Req, Res>>,
    bounds: Bounds,
    schedule: Schedule,
    running: JoinSet<()>,
    callers: Box<dyn Fn() -> usize + Send>,
    weigh: fn(&Req) -> usize,
}

impl<Req, Res> Collector<Req, Res> {
    /// Returns a batch that may begin now, `None` after the last one.
    async fn next_batch(&mut self) -> Option<Forming<Req, Res>> {
        let first = match self.overflow.take() {
            Some(queued) => queued,
            None => self.waiting.recv().await?,
        };
        // The others stay in the queue, whose bound counts them, until there is a place for their batch.
        while self.running.len() >= self.bounds.in_flight.max(1) {
            self.running.join_next().await;
        }
        let mut batch = Forming::new(first, self.weigh);
        self.collect(&mut batch);
        self.wait_for_others(&mut batch).await;
        self.let_a_group_join(&mut batch).await;
        Some(batch)
    }

    fn collect(&mut self, batch: &mut Forming<Req, Res>) {
        let expected = self.waiting.len().min(self.bounds.max_records);
        batch.requests.reserve(expected);
        batch.answers.reserve(expected);
        while self.has_room(batch) {
            let Ok(next) = self.waiting.try_recv() else { break };
            self.add(batch, next);
        }
    }

    async fn wait_for_others(&mut self, batch: &mut Forming<Req, Res>) {
        while self.has_room(batch) {
            let (now, waiting) = (Instant::now(), self.waiting_with(batch));
            if self.schedule.may_start(now, waiting) {
                return;
            }
            let wakes_at = self.schedule.wakes_at(waiting);
            tokio::select! {
                Some(_) = self.running.join_next() => {}
                () = sleep_until(wakes_at.unwrap_or(now)), if wakes_at.is_some() => {}
                next = self.waiting.recv() => match next {
                    Some(next) => self.add(batch, next),
                    None => return,
                },
            }
        }
    }

    /// Keeps collecting while ready tasks submit requests.
    async fn let_a_group_join(&mut self, batch: &mut Forming<Req, Res>) {
        let mut quiet = 0;
        while quiet < QUIET_TURNS && self.others_may_join(batch) {
            let before = batch.requests.len();
            yield_now().await;
            self.collect(batch);
            quiet = if batch.requests.len() > before {
                0
            } else {
                quiet + 1
            };
        }
    }

    /// Whether the batch is small, has room, and lacks the requests of some callers.
    fn others_may_join(&self, batch: &Forming<Req, Res>) -> bool {
        self.has_room(batch) && self.schedule.is_small(self.waiting_with(batch))
    }

    fn waiting_with(&self, batch: &Forming<Req, Res>) -> Waiting {
        Waiting {
            fresh: batch.requests.len(),
            next_due: None,
            callers: (self.callers)(),
            running: self.running.len(),
        }
    }

    const fn has_room(&self, batch: &Forming<Req, Res>) -> bool {
        self.overflow.is_none() && batch.requests.len() < self.bounds.max_records
    }

    fn add(&mut self, batch: &mut Forming<Req, Res>, next: Queued<Req, Res>) {
        let weight = batch.weight.saturating_add((self.weigh)(&next.request));
        if weight > self.bounds.max_weight {
            self.overflow = Some(next);
            return;
        }
        batch.weight = weight;
        batch.requests.push(next.request);
        batch.answers.push(next.answer);
    }
}

#[cfg(test)]
mod tests;
