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
    /// For the rare look at a program's state or at test events; the tracking routes go through the parts below.
    pub pool: PgPool,
    pub directory: Directory,
    pub customer_ids: CustomerIds,
    pub existing_clicks: ExistingClicks,
    pub email_hasher: EmailHasher,
    pub pipeline: Pipeline,
    pub limits: Limits,
    pub origin: OriginConfig,
    /// Of one request.
    pub body_limit_bytes: u64,
}
