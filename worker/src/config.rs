//! Settings of a worker, one section a concern; each is a flag and an environment variable.

use clap::Parser;
use common::runtime::config::{HttpConfig, KeysConfig, NatsConfig, PostgresConfig};

/// Runs the steps of the referral tracking pipeline.
#[derive(Debug, Clone, Parser)]
#[command(version)]
pub struct Config {
    /// For `/livez` and `/readyz` only.
    #[command(flatten)]
    pub http: HttpConfig,
    #[command(flatten)]
    pub postgres: PostgresConfig,
    #[command(flatten)]
    pub nats: NatsConfig,
    #[command(flatten)]
    pub keys: KeysConfig,
}
