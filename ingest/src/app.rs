//! What every route shares.

use common::runtime::clock::Clock;
use sqlx::PgPool;

use crate::customer_ids::CustomerIds;
use crate::directory::Directory;
use crate::email::EmailHasher;
use crate::existing_clicks::ExistingClicks;
use crate::limits::Limits;
use crate::origin::OriginConfig;
use crate::pipeline::Pipeline;

#[derive(Debug, Clone)]
pub struct App {
    pub clock: Clock,
    /// For readiness and for looking at test events; other routes go through the batching parts below.
    pub pool: PgPool,
    pub directory: Directory,
    pub customer_ids: CustomerIds,
    pub existing_clicks: ExistingClicks,
    pub email_hasher: EmailHasher,
    pub pipeline: Pipeline,
    pub limits: Limits,
    pub origin: OriginConfig,
}
