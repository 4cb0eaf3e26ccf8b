//! The state that every route shares.

use std::ops::Deref;
use std::sync::Arc;

use axum::extract::FromRef;
use domain::email::EmailHasher;
use domain::programs::webhook_address::AllowedAddresses;
use domain::sealed::SealingKeys;
use runtime::clock::Clock;
use runtime::health::Probe;
use sqlx::PgPool;
use tokio_util::sync::CancellationToken;
use url::Url;

use crate::http::limits::Limits;
use crate::management::emails::Emails;
use crate::management::passkeys::Passkeys;
use crate::management::passwords::Passwords;
use crate::management::reads::Reads;
use crate::management::stream_waits::StreamWaits;
use crate::pages::script_alias::ScriptAlias;
use crate::tracking::customer_ids::CustomerIds;
use crate::tracking::directory::Directory;
use crate::tracking::existing_clicks::ExistingClicks;
use crate::tracking::pipeline::Pipeline;
use crate::tracking::visitor_context::OriginConfig;

/// Cheap to clone: a request clones it several times.
#[derive(Debug, Clone)]
pub struct App(Arc<Parts>);

#[derive(Debug)]
pub struct Parts {
    pub clock: Clock,
    /// For the queries of rare routes, such as program status. The tracking routes use the parts below.
    pub pool: PgPool,
    /// A pool of its own: management routes must not take the connections that claims need.
    pub management: PgPool,
    /// For the dashboard's reports.
    pub reads: Reads,
    pub stream_waits: StreamWaits,
    pub passwords: Passwords,
    pub passkeys: Passkeys,
    pub emails: Emails,
    /// Seal the secrets of payment processors.
    pub sealing_keys: Arc<SealingKeys>,
    /// The address at which people and browsers reach this service.
    pub public_url: Url,
    pub security_contact: Option<Url>,
    /// Other names under which the service serves the browser script.
    pub script_aliases: Vec<ScriptAlias>,
    pub directory: Directory,
    pub customer_ids: CustomerIds,
    pub existing_clicks: ExistingClicks,
    pub email_hasher: EmailHasher,
    pub pipeline: Pipeline,
    pub probe: Probe,
    pub limits: Limits,
    pub origin: OriginConfig,
    /// The addresses at which webhook endpoints may listen.
    pub webhook_addresses: AllowedAddresses,
    /// The limit of one request's body.
    pub body_limit_bytes: u64,
    /// Cancelled at shutdown, so that live streams end.
    pub closing: CancellationToken,
}

impl Deref for App {
    type Target = Parts;

    fn deref(&self) -> &Parts {
        &self.0
    }
}

impl FromRef<App> for Clock {
    fn from_ref(app: &App) -> Self {
        app.clock.clone()
    }
}

impl App {
    pub fn new(parts: Parts) -> Self {
        Self(Arc::new(parts))
    }

    /// Random bytes for tokens and salts.
    pub fn random<const BYTES: usize>() -> [u8; BYTES] {
        let mut bytes = [0; BYTES];
        rand::fill(&mut bytes);
        bytes
    }
}
