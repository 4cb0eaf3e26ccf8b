//! Claims transaction_ids: concurrent sales share one batch.
//!
//! Phases of one batch: **claim** (one INSERT, one commit; each row holds its whole record, so that from here
//! on the relay can finish the sale after any crash) → **answer** each caller whether it won its claim, while
//! the next batch is claimed → **publish** the won claims, together with those of other batches, and look up
//! which lost claims another program holds.
//!
//! A batch holds the sales that arrived while the previous batch was claimed, at most [`MAX_RECORDS`]. It
//! runs in tasks of its own: a caller that disconnects cancels nothing.

use std::time::Duration;

use bus::publish::Publisher;
use runtime::batch::{BatchError, Batcher, Bounds};
use runtime::claim_conflicts;
use runtime::crash_point::crash_point;
use runtime::lifecycle::Lifecycle;
use runtime::metrics::{CLAIMS, Counter};
use runtime::retry::{RetryPolicy, retry};
use serde_json::value::RawValue;
use sqlx::PgPool;
use storage::StorageError;
use storage::tracking::claims::{self, NewClaim};
use tokio_util::task::TaskTracker;

use super::concurrency_limit::ConcurrencyLimit;

const MAX_RECORDS: usize = 512;
const MAX_BYTES: usize = 512 * 1024;
const QUEUE: usize = 8192;
/// A database that restarts or fails over closes every pooled connection. Claiming is idempotent, so it is
/// retried, well within the time that callers wait for the outcome.
const RETRY: RetryPolicy = RetryPolicy {
    first_delay: Duration::from_millis(20),
    max_delay: Duration::from_millis(200),
    max_attempts: 10,
    max_elapsed: Some(Duration::from_secs(1)),
};
/// More concurrent batches would be smaller and wait for the same disk.
const IN_FLIGHT: usize = 1;
/// About as long as a single sale takes. Sales claimed together are published, settled and answered together.
const PACE: Duration = Duration::from_millis(3);

/// A sale to claim and, if the claim is won, to publish.
#[derive(Debug)]
pub struct ClaimRequest {
    pub claim: NewClaim,
    pub record: Box<RawValue>,
}

/// After an error it is unknown whether the claim committed.
pub type ClaimError = BatchError<StorageError>;

#[derive(Debug, Clone)]
pub struct Claims(Batcher<ClaimRequest, Result<bool, ClaimError>>);

impl Claims {
    /// `callers` limits the callers that wait for the outcomes of their sales.
    pub fn start(pool: PgPool, sales: Publisher, callers: ConcurrencyLimit, lifecycle: &Lifecycle) -> Self {
        let bounds = Bounds {
            name: "claims",
            queue: QUEUE,
            max_records: MAX_RECORDS,
            max_weight: MAX_BYTES,
            in_flight: IN_FLIGHT,
            pace: PACE,
        };
        let weigh = |request: &ClaimRequest| request.record.get().len();
        let claiming = Claiming {
            pool,
            sales,
            tasks: lifecycle.tasks().clone(),
            won: CLAIMS.with(["won"]),
            taken: CLAIMS.with(["taken"]),
            failed: CLAIMS.with(["failed"]),
        };
        Self(Batcher::spawn_among(
            lifecycle.tasks(),
            bounds,
            move || callers.waiting(),
            weigh,
            move |requests| claim(claiming.clone(), requests),
        ))
    }

    /// Whether the sale has claimed its transaction_id before all others. If so, its outcome comes from the
    /// worker, or through the relay if publishing failed.
    pub async fn claim(&self, request: ClaimRequest) -> Result<bool, ClaimError> {
        self.0.submit(request).await?
    }
}

#[derive(Clone)]
struct Claiming {
    pool: PgPool,
    sales: Publisher,
    tasks: TaskTracker,
    won: Counter,
    taken: Counter,
    failed: Counter,
}

async fn claim(claiming: Claiming, requests: Vec<ClaimRequest>) -> Vec<Result<bool, ClaimError>> {
    let (claims, records): (Vec<NewClaim>, Vec<Box<RawValue>>) = requests
        .into_iter()
        .map(|request| (request.claim, request.record))
        .unzip();
    let attempt = || claims::claim(&claiming.pool, &claims);
    let won = match retry(&RETRY, attempt, StorageError::is_transient).await {
        Ok(won) => won,
        Err(error) => {
            claiming.failed.inc_by(claims.len() as u64);
            return vec![Err(ClaimError::failed(error)); claims.len()];
        }
    };
    crash_point("ingest.after_claim");
    let answers = won.iter().map(|won| Ok(*won)).collect();
    let (mut to_publish, mut lost) = (Vec::new(), Vec::new());
    for ((claim, record), won) in claims.into_iter().zip(records).zip(won) {
        if won {
            to_publish.push(record);
        } else {
            lost.push(claim);
        }
    }
    claiming.won.inc_by(to_publish.len() as u64);
    claiming.taken.inc_by(lost.len() as u64);
    let tasks = claiming.tasks.clone();
    tasks.spawn(async move {
        tokio::join!(
            publish(&claiming.sales, to_publish),
            report_conflicts(&claiming.pool, &lost)
        );
        crash_point("ingest.after_publish");
    });
    answers
}

async fn publish(sales: &Publisher, records: Vec<Box<RawValue>>) {
    let count = records.len();
    if let Err(error) = sales.publish_all(records).await {
        tracing::warn!(%error, sales = count, "publish of claimed sales failed, the relay takes over");
    }
}

/// A transaction_id is unique across all programs, so one program can take another's. The callers of the
/// other program get 409 as for any repeat; the operator gets a metric and a log line.
async fn report_conflicts(pool: &PgPool, lost: &[NewClaim]) {
    let lost: Vec<&NewClaim> = lost.iter().collect();
    match claims::conflicts(pool, &lost).await {
        Ok(conflicts) => claim_conflicts::report(conflicts.iter().map(|lost| {
            (
                lost.program_id.get(),
                lost.held_by.get(),
                lost.claims.unsigned_abs(),
            )
        })),
        Err(error) => tracing::warn!(%error, "claim holder lookup failed"),
    }
}
