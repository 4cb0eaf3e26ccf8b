//! Checks the invariants of `ctl verify`, slice by slice: one worker at a time, by a lock.

use std::time::{Duration, Instant};

use runtime::lifecycle::Lifecycle;
use sqlx::PgPool;
use storage::operations::verify::continuous::{self, Step};

/// Pause before the first slice, after an error, and while nothing is due.
const IDLE: Duration = Duration::from_mins(1);
/// A pause lasts this many times as long as the slice took: the pipeline has priority.
const RESTS: u32 = 9;
const AT_LEAST: Duration = Duration::from_millis(50);

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
