//! The state that both endpoints share.

use std::sync::Arc;

use domain::processors::processor::WebhookSecret;
use runtime::clock::Clock;
use sqlx::PgPool;
use tokio_util::task::TaskTracker;

use crate::endpoints::Endpoints;
use crate::inbox::Inbox;
use crate::stripe::metadata::MetadataKeys;

#[derive(Debug)]
pub struct App {
    pub clock: Clock,
    /// For looking up the programs bound to an account.
    pub pool: PgPool,
    pub tasks: TaskTracker,
    pub endpoints: Endpoints,
    /// Secrets of the endpoint for connected accounts.
    pub distributor_secrets: Arc<[WebhookSecret]>,
    pub metadata_keys: Arc<MetadataKeys>,
    pub inbox: Inbox,
    pub body_limit_bytes: u64,
}
