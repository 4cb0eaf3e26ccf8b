//! Verifies the invariants of `ctl verify` all the time, slice by slice. Every worker tries; one at a time holds the lock.

use std::time::{Duration, Instant};

use runtime::lifecycle::Lifecycle;
use sqlx::PgPool;
use storage::verify::continuous::{self, Step};

/// While nothing is due, before the first slice, and after an error.
const IDLE: Duration = Duration::from_mins(1);
/// Rests for so many times as long as a slice took: the pipeline comes first.
const RESTS: u32 = 9;
const AT_LEAST: Duration = Duration::from_millis(50);

/// Runs until shutdown.
pub async fn run(pool: PgPool, lifecycle: Lifecycle) {
    let mut pause = IDLE;
    loop {
        let step = async {
            tokio::time::sleep(pause).await;
            let began = Instant::now();
            (continuous::step(&pool).await, began.elapsed())
        };
        let (step, took) = tokio::select! {
            () = lifecycle.soft().cancelled() => return,
            done = step => done,
        };
        pause = (took * RESTS).max(AT_LEAST);
        match step {
            Ok(Step::Verified) => {}
            Ok(Step::Idle) => pause = IDLE,
            Ok(Step::Found { invariant, rows }) => {
                tracing::error!(invariant, rows, "verification found a difference");
            }
            Err(error) => {
                tracing::warn!(%error, "verification failed");
                pause = IDLE;
            }
        }
    }
}
