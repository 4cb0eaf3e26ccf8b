//! Resolves host names. The resolver is injected, so that a test can change the answer between two lookups.

use std::fmt;
use std::io;
use std::net::SocketAddr;

use futures::future::BoxFuture;
use tokio::net::lookup_host;

pub type Resolved = io::Result<Vec<SocketAddr>>;

pub trait Resolve: Send + Sync {
    fn resolve(&self, host: String, port: u16) -> BoxFuture<'static, Resolved>;
}

impl fmt::Debug for dyn Resolve {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Resolve")
    }
}

#[derive(Debug, Clone, Copy)]
pub struct SystemResolver;

impl Resolve for SystemResolver {
    fn resolve(&self, host: String, port: u16) -> BoxFuture<'static, Resolved> {
        Box::pin(async move { Ok(lookup_host((host, port)).await?.collect()) })
    }
}
