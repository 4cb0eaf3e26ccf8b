//! The only HTTP client of the service, for the worker's delivery role.
//!
//! One attempt resolves the host, checks every address, connects to a checked one, starts TLS with the host's
//! name, sends, and reads the status and the start of the answer. It follows no redirects, uses no proxies or
//! cookies, and reads no environment variables. Connections are kept for at most a minute; then the host is
//! resolved and checked again.

mod connect;
mod error;
mod idle;
mod resolve;
mod send;

use std::sync::Arc;
use std::time::Duration;

use domain::programs::webhook::WebhookUrl;
use domain::programs::webhook_address::AllowedAddresses;
use tokio::time::timeout;

use self::connect::Connector;
use self::idle::IdleConnections;

pub use self::connect::{RootsError, roots};
pub use self::error::AttemptError;
pub use self::resolve::{Resolve, Resolved, SystemResolver};
pub use self::send::{Answer, Message};

/// Sends webhooks. Clones share connections.
#[derive(Clone)]
pub struct Client(Arc<Inner>);

struct Inner {
    connector: Connector,
    idle: IdleConnections,
    within: Duration,
}

domain::redacted!(Client);

impl Client {
    /// `within` is the limit for a whole attempt, from resolving the host to the end of the answer.
    pub fn new(
        allowed: AllowedAddresses,
        resolver: Arc<dyn Resolve>,
        roots: rustls::RootCertStore,
        within: Duration,
    ) -> Result<Self, rustls::Error> {
        Ok(Self(Arc::new(Inner {
            connector: Connector::new(allowed, resolver, roots)?,
            idle: IdleConnections::default(),
            within,
        })))
    }

    /// Makes one attempt. An answer of any status is `Ok`.
    pub async fn send(&self, url: &WebhookUrl, message: &Message) -> Result<Answer, AttemptError> {
        timeout(self.0.within, self.0.attempt(url, message))
            .await
            .unwrap_or(Err(AttemptError::TimedOut))
    }
}

impl Inner {
    async fn attempt(&self, url: &WebhookUrl, message: &Message) -> Result<Answer, AttemptError> {
        let target = send::Target::of(url)?;
        if let Some(mut kept) = self.idle.take(&target.origin) {
            match send::send(&mut kept, &target, message).await {
                Ok((answer, whole)) => {
                    self.idle.keep(target.origin, kept, whole);
                    return Ok(answer);
                }
                // The receiver may have just closed the kept connection, so try a new one.
                Err(_) => drop(kept),
            }
        }
        let mut connection = self.connector.connect(&target.origin).await?;
        let (answer, whole) = send::send(&mut connection, &target, message).await?;
        self.idle.keep(target.origin, connection, whole);
        Ok(answer)
    }
}
