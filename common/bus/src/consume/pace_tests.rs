//! Tests the whole loop with a pace that never ends. There is no server: what the loop sends is lost.

use std::time::Duration;

use async_nats::ConnectOptions;
use async_nats::jetstream::message::Acker;
use chrono::DateTime;
use tokio::sync::Semaphore;
use tokio::task::JoinHandle;

use super::in_flight::MessageId;
use super::*;
use messages::envelope;

const MAX_RECORDS: usize = 40;
const SMALL: usize = MAX_RECORDS / 4 - 1;

/// Reports the size of each batch.
struct Unhurried(mpsc::UnboundedSender<usize>);

impl Step for Unhurried {
    type Record = u32;
    const SUBJECT: Subject = Subject::Clicks;
    const PACE: Duration = Duration::from_hours(24);

    async fn run(&self, batch: &[Delivered<u32>]) -> Result<Processed, StepError> {
        self.0.send(batch.len()).unwrap();
        Ok(Processed {
            verdicts: vec![Verdict::Done; batch.len()],
            replies: Vec::new(),
        })
    }

    async fn dead_letter(&self, _: DeadLetter) -> Result<(), StepError> {
        unreachable!("every record is settled")
    }
}

struct Loop {
    client: Client,
    arrivals: mpsc::Sender<Arrived>,
    sent: u64,
    batches: mpsc::UnboundedReceiver<usize>,
    running: JoinHandle<Result<(), ConsumeError>>,
}

impl Loop {
    async fn start() -> Self {
        let nowhere = ConnectOptions::new().retry_on_initial_connect();
        let client = nowhere.connect("127.0.0.1:1").await.unwrap();
        let (report, batches) = mpsc::unbounded_channel();
        let (arrivals, incoming) = mpsc::channel(8);
        let bounds = ConsumeBounds {
            max_records: MAX_RECORDS,
            ..ConsumeBounds::default()
        };
        let work = Work {
            step: Arc::new(Unhurried(report)),
            client: client.clone(),
            subject: "clicks".to_owned(),
            retry: bounds.retry.clone(),
            shutdown: CancellationToken::new(),
            metrics: ConsumeMetrics::of(Subject::Clicks),
        };
        let consumer = Consumer {
            work: Arc::new(work),
            schedule: Schedule::new(Instant::now(), bounds.rules(Unhurried::PACE)),
            bounds,
            incoming,
            in_flight: InFlightMessages::new(),
            queue: Queue::new(),
            running: JoinSet::new(),
            isolated_running: false,
        };
        Self {
            client,
            arrivals,
            sent: 0,
            batches,
            running: tokio::spawn(consumer.run()),
        }
    }

    /// Sends a message with this many records.
    async fn send(&mut self, records: usize) {
        self.sent += 1;
        let record = serde_json::value::to_raw_value(&7).unwrap();
        let acker = Acker::new(async_nats::jetstream::new(self.client.clone()), None);
        let arrived = Arrived {
            message: MessageId {
                sequence: self.sent,
                stored_at: DateTime::UNIX_EPOCH,
            },
            deliveries: 1,
            payload: envelope::encode(None, &vec![record; records]),
            pending_ack: Arc::new(PendingAcks::default()).take(acker),
            _permits: Arc::new(Semaphore::new(1)).acquire_owned().await.unwrap(),
        };
        assert!(self.arrivals.send(arrived).await.is_ok());
    }
}

#[tokio::test]
async fn after_a_small_batch_the_next_one_takes_its_time() {
    let mut consuming = Loop::start().await;
    consuming.send(SMALL).await;
    assert_eq!(consuming.batches.recv().await, Some(SMALL));
    consuming.send(1).await;
    // After this, the current-thread test runtime has run all ready tasks.
    for _ in 0..64 {
        tokio::task::yield_now().await;
    }
    assert!(consuming.batches.try_recv().is_err(), "its pace is not over");
    consuming.running.abort();
}

#[tokio::test]
async fn a_batch_that_shows_that_more_is_coming_is_followed_at_once() {
    let mut consuming = Loop::start().await;
    consuming.send(SMALL + 1).await;
    assert_eq!(consuming.batches.recv().await, Some(SMALL + 1));
    consuming.send(1).await;
    assert_eq!(consuming.batches.recv().await, Some(1));
    consuming.running.abort();
}
