//! Readers of event streams that have read everything and wait for more. They hold no connection. While
//! readers wait, one task polls the last positions of all their programs with one query.

use std::collections::{BTreeSet, HashMap};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use domain::ids::{ProgramId, WorkspaceId};
use runtime::lifecycle::Lifecycle;
use storage::outbound::stream_events;
use tokio::sync::{Notify, oneshot};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::management::prelude::*;
use crate::management::reads::Reads;
use crate::management::workspace_limit::{WorkspaceLimit, WorkspacePermit};

const LOOK_EVERY: Duration = Duration::from_millis(250);
/// The most waiting readers, in all and of one workspace; further ones are shed.
const WAITING: (usize, usize) = (256, 32);

#[derive(Debug, Clone)]
pub struct StreamWaits(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    limit: WorkspaceLimit,
    waiting: Mutex<HashMap<u64, Waiting>>,
    next_id: AtomicU64,
    /// Notified when a reader begins to wait.
    begun: Notify,
    closing: CancellationToken,
}

#[derive(Debug)]
struct Waiting {
    program_id: ProgramId,
    /// The reader waits for an event after this position.
    after: i64,
    wake: oneshot::Sender<()>,
}

/// Ends the wait when dropped, even if the client has disconnected.
struct Registered {
    id: u64,
    waits: Arc<Inner>,
}

impl Drop for Registered {
    fn drop(&mut self) {
        self.waits.lock().remove(&self.id);
    }
}

impl StreamWaits {
    pub fn start(reads: Reads, lifecycle: &Lifecycle) -> Self {
        let waits = Self(Arc::new(Inner {
            limit: WorkspaceLimit::new(WAITING.0, WAITING.1),
            waiting: Mutex::default(),
            next_id: AtomicU64::default(),
            begun: Notify::new(),
            closing: lifecycle.soft().clone(),
        }));
        lifecycle.tasks().spawn(Arc::clone(&waits.0).run(reads));
        waits
    }

    pub fn permit(&self, workspace_id: WorkspaceId) -> Result<WorkspacePermit, ApiError> {
        self.0.limit.take(workspace_id)
    }

    /// Waits until the program has an event after this position. Returns false at `until` or at shutdown.
    pub async fn has_later(&self, program_id: ProgramId, after: i64, until: Instant) -> bool {
        let (wake, woken) = oneshot::channel();
        let id = self.0.next_id.fetch_add(1, Ordering::Relaxed);
        let registered = Registered {
            id,
            waits: Arc::clone(&self.0),
        };
        self.0.lock().insert(
            id,
            Waiting {
                program_id,
                after,
                wake,
            },
        );
        self.0.begun.notify_one();
        let news = tokio::select! {
            woken = woken => woken.is_ok(),
            () = tokio::time::sleep_until(until) => false,
            () = self.0.closing.cancelled() => false,
        };
        drop(registered);
        news
    }
}

impl Inner {
    fn lock(&self) -> MutexGuard<'_, HashMap<u64, Waiting>> {
        // A panic cannot leave an entry half changed.
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn run(self: Arc<Self>, reads: Reads) {
        let closing = self.closing.clone();
        closing.run_until_cancelled(self.look(&reads)).await;
    }

    async fn look(&self, reads: &Reads) {
        loop {
            let programs = self.programs();
            if programs.is_empty() {
                self.begun.notified().await;
                continue;
            }
            // After an error the readers wait until their time ends; then their clients ask again.
            match last_positions(reads, &programs).await {
                Ok(positions) => self.wake(&positions),
                Err(error) => error.log(),
            }
            tokio::time::sleep(LOOK_EVERY).await;
        }
    }

    fn programs(&self) -> Vec<i64> {
        let waiting = self.lock();
        let programs: BTreeSet<i64> = waiting.values().map(|reader| reader.program_id.get()).collect();
        programs.into_iter().collect()
    }

    fn wake(&self, positions: &HashMap<ProgramId, i64>) {
        let has_news = |_: &u64, reader: &mut Waiting| {
            positions
                .get(&reader.program_id)
                .is_some_and(|position| *position > reader.after)
        };
        for (_, reader) in self.lock().extract_if(has_news) {
            // The reader may have gone at this instant.
            let _ = reader.wake.send(());
        }
    }
}

async fn last_positions(reads: &Reads, programs: &[i64]) -> Result<HashMap<ProgramId, i64>, ApiError> {
    let mut connection = reads.acquire().await?;
    Ok(stream_events::last_positions(&mut connection, programs).await?)
}
