//! Natural batching: requests that arrive while a batch runs form the next one.
//!
//! Phases of a request: it queues; a batch forms from all queued requests as soon as fewer than `in_flight`
//! batches run; the batch runs in a task of its own; each submitter gets its answer. While batches run, the
//! next one collects. At low load a batch is one request and costs no extra delay. At high load batches grow
//! until the cost per request is small.
//!
//! A batch smaller than the one started before it keeps collecting until it has the same size or a running
//! batch ends. Otherwise every large batch would be followed by a batch of one request, at the same cost.
//!
//! A batcher may have a `pace`: the minimum interval between the starts of two batches, if the second is
//! small. Without it, at a few hundred requests a second, batches end so soon that nearly every request forms
//! its own batch, here and in every later stage, and the processors are busy at a tenth of the possible load
//! ([measured](../../../docs/design.md#small-batches-of-claims-are-paced)). Three batches never wait: the
//! first one after a pause, a large one, and one that holds the requests of all waiting callers, because no
//! further request can join it.
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

use std::fmt;
use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore, mpsc, oneshot};
use tokio::task::yield_now;
use tokio::time::{Instant, sleep_until};
use tokio_util::task::TaskTracker;

use super::metrics::{BATCH_RECORDS, BATCH_REFUSED, BATCH_SECONDS, Counter, to_f64};

/// The module explains these bounds.
#[derive(Debug, Clone, Copy)]
pub struct Bounds {
    /// Names the batcher in metrics.
    pub name: &'static str,
    pub queue: usize,
    pub max_records: usize,
    /// In the unit of the `weigh` function, commonly bytes.
    pub max_weight: usize,
    pub in_flight: usize,
    /// Zero turns the pace off.
    pub pace: Duration,
}

/// A batch is small if it has fewer requests than `max_records` divided by this.
const SMALL_BATCH_DIVISOR: usize = 4;

/// A small batch starts after this many turns without another request. In each turn other tasks run and
/// arrived bytes are read. Takes some microseconds on an idle machine.
const QUIET_TURNS: u32 = 4;

/// Why a request got no answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SubmitError {
    /// The queue is full. The request was not run.
    #[error("queue is full")]
    Overloaded,
    /// The batch ended without an answer (it panicked, or the batcher ended). It may have taken effect or
    /// not.
    #[error("batch ended without an answer")]
    Closed,
}

/// Why a request got no result, for batches that can fail.
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
    /// or `run` panics, the submitters of that batch get [`SubmitError::Closed`], and later batches are
    /// unaffected.
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
            bounds,
            callers: Box::new(callers),
            weigh,
        };
        tasks.spawn(dispatch(tasks.clone(), collector, run));
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
    tasks: TaskTracker,
    mut collector: Collector<Req, Res>,
    run: impl Fn(Vec<Req>) -> F + Send + 'static,
) where
    Req: Send + 'static,
    Res: Send + 'static,
    F: Future<Output = Vec<Res>> + Send + 'static,
{
    let slots = Arc::new(Semaphore::new(collector.bounds.in_flight.max(1)));
    let others = Arc::new(Others::default());
    let name = collector.bounds.name;
    let (sizes, seconds) = (BATCH_RECORDS.with([name]), BATCH_SECONDS.with([name]));
    let mut size_before = 0;
    let mut paced_until = Instant::now();
    while let Some(first) = collector.first().await {
        let Ok(slot) = Arc::clone(&slots).acquire_owned().await else {
            return;
        };
        let mut batch = Forming::new(first, collector.weigh);
        collector.collect(&mut batch);
        collector.collect_until(size_before, &mut batch, &others).await;
        collector.keep_pace(paced_until, &mut batch).await;
        collector.let_a_group_join(&mut batch).await;
        paced_until = Instant::now() + collector.bounds.pace;
        size_before = batch.requests.len();
        let running = others.one_more(slot);
        let Forming {
            requests, answers, ..
        } = batch;
        tracing::trace!(batcher = name, records = requests.len(), "batch");
        let expected = answers.len();
        sizes.observe(to_f64(expected));
        let (seconds, started) = (seconds.clone(), Instant::now());
        let batch = run(requests);
        tasks.spawn(async move {
            let results = batch.await;
            seconds.observe(started.elapsed().as_secs_f64());
            // The next batch may start while these submitters wake up.
            drop(running);
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
}

/// Numbers of running and ended batches.
#[derive(Default)]
struct Others {
    running: AtomicUsize,
    ended: AtomicUsize,
    end: Notify,
}

/// Counts the batch as ended when dropped.
struct Running {
    others: Arc<Others>,
    _slot: OwnedSemaphorePermit,
}

impl Others {
    fn one_more(self: &Arc<Self>, slot: OwnedSemaphorePermit) -> Running {
        self.running.fetch_add(1, Ordering::Relaxed);
        Running {
            others: Arc::clone(self),
            _slot: slot,
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.others.running.fetch_sub(1, Ordering::Relaxed);
        self.others.ended.fetch_add(1, Ordering::Relaxed);
        // Notifies after both counters have changed. The permit is kept until a task waits.
        self.others.end.notify_one();
    }
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
    callers: Box<dyn Fn() -> usize + Send>,
    weigh: fn(&Req) -> usize,
}

impl<Req, Res> Collector<Req, Res> {
    async fn first(&mut self) -> Option<Queued<Req, Res>> {
        match self.overflow.take() {
            Some(queued) => Some(queued),
            None => self.waiting.recv().await,
        }
    }

    /// Collects queued requests.
    fn collect(&mut self, batch: &mut Forming<Req, Res>) {
        let expected = self.waiting.len().min(self.bounds.max_records);
        batch.requests.reserve(expected);
        batch.answers.reserve(expected);
        while self.has_room(batch) {
            let Ok(next) = self.waiting.try_recv() else { break };
            self.add(batch, next);
        }
    }

    /// Keeps collecting while the batch is smaller than `size` and no running batch ends.
    async fn collect_until(&mut self, size: usize, batch: &mut Forming<Req, Res>, others: &Others) {
        let ended = others.ended.load(Ordering::Relaxed);
        while batch.requests.len() < size
            && self.has_room(batch)
            && others.running.load(Ordering::Relaxed) > 0
            && others.ended.load(Ordering::Relaxed) == ended
        {
            tokio::select! {
                () = others.end.notified() => {}
                next = self.waiting.recv() => match next {
                    Some(next) => self.add(batch, next),
                    None => break,
                },
            }
        }
    }

    /// Keeps collecting until `until`, while the batch is small and other callers may join.
    async fn keep_pace(&mut self, until: Instant, batch: &mut Forming<Req, Res>) {
        while self.others_may_join(batch) && Instant::now() < until {
            tokio::select! {
                () = sleep_until(until) => {}
                next = self.waiting.recv() => match next {
                    Some(next) => self.add(batch, next),
                    None => break,
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
        let few = self.bounds.max_records / SMALL_BATCH_DIVISOR;
        batch.requests.len() < few.min((self.callers)()) && self.has_room(batch)
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
