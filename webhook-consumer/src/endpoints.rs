//! Looks up the connection of a program's own endpoint. Concurrent deliveries share a batch.
//!
//! There is no cache, so a secret that was replaced or revoked is rejected at once. Lookups stay cheap,
//! because deliveries that arrive during one lookup share the next one.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use domain::ids::ProgramId;
use domain::processors::processor::{ConnectionStatus, ProcessorId, WebhookSecret};
use domain::sealed::SealingKeys;
use runtime::batch::{BatchError, Batcher, Bounds};
use runtime::clock::Clock;
use runtime::lifecycle::Lifecycle;
use runtime::retry::retry;
use sqlx::PgPool;
use storage::processor::processor_connections::{self, Connection};
use storage::{StorageError, StorageResult};

use crate::inbox::{PACE, RETRY};

const MAX_PROGRAMS: usize = 512;
const QUEUE: usize = 1024;
/// Two concurrent lookups would halve the batches, and each one decrypts the secrets of its programs.
const IN_FLIGHT: usize = 1;

/// A program's own endpoint.
#[derive(Debug, Clone)]
pub struct OwnEndpoint {
    pub account_id: ProcessorId,
    /// A delivery may be signed with any of these secrets.
    pub secrets: Arc<[WebhookSecret]>,
}

type Found = Result<Option<OwnEndpoint>, BatchError<StorageError>>;

#[derive(Debug, Clone)]
pub struct Endpoints(Batcher<ProgramId, Found>);

impl Endpoints {
    pub fn start(pool: PgPool, keys: Arc<SealingKeys>, clock: Clock, lifecycle: &Lifecycle) -> Self {
        let bounds = Bounds {
            name: "processor connections",
            queue: QUEUE,
            max_records: MAX_PROGRAMS,
            max_weight: MAX_PROGRAMS,
            in_flight: IN_FLIGHT,
            pace: PACE,
        };
        Self(Batcher::spawn(
            lifecycle.tasks(),
            bounds,
            |_| 1,
            move |programs| look_up(pool.clone(), Arc::clone(&keys), clock.clone(), programs),
        ))
    }

    /// Returns `None` if the program does not exist, or its connection is missing or disconnected.
    pub async fn of(&self, program_id: ProgramId) -> Found {
        self.0.submit(program_id).await?
    }
}

async fn look_up(pool: PgPool, keys: Arc<SealingKeys>, clock: Clock, asked: Vec<ProgramId>) -> Vec<Found> {
    let programs: Vec<ProgramId> = asked
        .iter()
        .copied()
        .collect::<BTreeSet<_>>()
        .into_iter()
        .collect();
    let look = async || {
        let mut connection = pool.acquire().await?;
        processor_connections::find_all(&mut connection, &programs).await
    };
    let found = match retry(&RETRY, look, StorageError::is_transient).await {
        Ok(found) => found,
        Err(error) => return vec![Err(BatchError::failed(error)); asked.len()],
    };
    let endpoints: BTreeMap<ProgramId, Found> = found
        .into_iter()
        .map(|(program_id, connection)| {
            let endpoint = connection.and_then(|connection| open(connection, &keys, program_id, &clock));
            (program_id, endpoint.map_err(BatchError::failed))
        })
        .collect();
    let of = |program_id| endpoints.get(program_id).cloned().unwrap_or(Ok(None));
    asked.iter().map(of).collect()
}

/// Returns `None` if the connection is disconnected: its owner stopped it, perhaps because the secret leaked.
fn open(
    connection: Connection,
    keys: &SealingKeys,
    program_id: ProgramId,
    clock: &Clock,
) -> StorageResult<Option<OwnEndpoint>> {
    if connection.status == ConnectionStatus::Disconnected {
        return Ok(None);
    }
    Ok(Some(OwnEndpoint {
        secrets: connection.accepted_secrets(keys, program_id, clock.now())?.into(),
        account_id: connection.account_id,
    }))
}
