//! Settings of the delivery role.

use std::path::PathBuf;
use std::time::Duration;

use clap::builder::RangedU64ValueParser;
use clap::{Args, Parser};
use runtime::config::{HttpConfig, PostgresConfig, SecretsConfig, TelemetryConfig, WebhookTargetsConfig};

use crate::config::RoleConfig;

/// Sends events to webhook endpoints.
#[derive(Debug, Clone, Parser)]
#[command(name = "worker", version)]
pub struct DeliveryConfig {
    /// HTTP for `/livez` and `/readyz` only.
    #[command(flatten)]
    pub http: HttpConfig,
    #[command(flatten)]
    pub postgres: PostgresConfig,
    #[command(flatten)]
    pub telemetry: TelemetryConfig,
    #[command(flatten)]
    pub role: RoleConfig,
    #[command(flatten)]
    pub secrets: SecretsConfig,
    #[command(flatten)]
    pub targets: WebhookTargetsConfig,
    #[command(flatten)]
    pub limits: WebhookLimitsConfig,
}

/// How much is sent at once.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Webhooks")]
pub struct WebhookLimitsConfig {
    /// Maximum number of webhooks in flight.
    #[arg(long, env = "WEBHOOK_IN_FLIGHT", default_value_t = 512, value_parser = RangedU64ValueParser::<usize>::new().range(1..=10_000))]
    pub webhook_in_flight: usize,
    /// Maximum number of webhooks in flight to one endpoint; one, while it fails.
    #[arg(long, env = "WEBHOOK_IN_FLIGHT_PER_ENDPOINT", default_value_t = 8, value_parser = clap::value_parser!(i32).range(1..=1_000))]
    pub webhook_in_flight_per_endpoint: i32,
    /// Milliseconds for a whole attempt, from the look-up of the host to the end of the answer.
    #[arg(long, env = "WEBHOOK_TIMEOUT_MS", default_value_t = 15_000, value_parser = clap::value_parser!(u64).range(100..=20_000))]
    pub webhook_timeout_ms: u64,
    /// File with CA certificates (PEM) that are trusted besides the system's, for receivers of your own.
    #[arg(long, env = "WEBHOOK_CA_FILE")]
    pub webhook_ca_file: Option<PathBuf>,
}

impl WebhookLimitsConfig {
    pub const fn within(&self) -> Duration {
        Duration::from_millis(self.webhook_timeout_ms)
    }
}
