//! Settings of the delivery role.

use std::path::PathBuf;
use std::time::Duration;

use crate::mail::smtp::{SettingsError, SmtpSender, SmtpSettings};
use clap::builder::RangedU64ValueParser;
use clap::{Args, Parser};
use runtime::config::{
    EmailConfig, EmailHashConfig, HttpConfig, PostgresConfig, PublicUrlConfig, SecretText, SecretUrl,
    SecretsConfig, TelemetryConfig, WebhookTargetsConfig,
};

use crate::config::RoleConfig;

/// Sends events to webhook endpoints, and e-mails.
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
    pub email_hash: EmailHashConfig,
    #[command(flatten)]
    pub public: PublicUrlConfig,
    #[command(flatten)]
    pub targets: WebhookTargetsConfig,
    #[command(flatten)]
    pub limits: WebhookLimitsConfig,
    #[command(flatten)]
    pub smtp: SmtpConfig,
}

/// How much is sent at once.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Webhooks")]
pub struct WebhookLimitsConfig {
    /// Maximum number of webhooks in flight.
    #[arg(long, env = "WEBHOOK_IN_FLIGHT", default_value_t = 512, value_parser = RangedU64ValueParser::<usize>::new().range(1..=10_000))]
    pub webhook_in_flight: usize,
    /// Maximum number of webhooks in flight to one endpoint; one at first and while it fails.
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

/// Sending e-mail.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "E-mail")]
pub struct SmtpConfig {
    #[command(flatten)]
    pub email: EmailConfig,
    /// Mail server that e-mails are handed to: `smtps://user:password@host:465`, or `smtp:`, which is encrypted with STARTTLS unless the server
    /// is on loopback. Without it no e-mail is sent.
    #[arg(
        long,
        env = "SMTP_URL",
        hide_env_values = true,
        value_parser = SecretUrl::of(&["smtp", "smtps"]),
        requires = "email_from"
    )]
    pub smtp_url: Option<SecretText>,
    /// File with the CA certificate (PEM) that verifies the mail server. When not set, the system's CA certificates are used.
    #[arg(long, env = "SMTP_CA_FILE")]
    pub smtp_ca_file: Option<PathBuf>,
    /// Address that answers to e-mails go to, if it is not the sender's.
    #[arg(long, env = "EMAIL_REPLY_TO")]
    pub email_reply_to: Option<String>,
}

impl SmtpConfig {
    /// Returns `None` if no e-mails are sent.
    pub(crate) fn sender(&self) -> Option<Result<SmtpSender, SettingsError>> {
        let (url, from) = (self.smtp_url.as_ref()?, self.email.email_from.as_ref()?);
        Some(SmtpSender::new(&SmtpSettings {
            url: url.expose(),
            ca_file: self.smtp_ca_file.clone(),
            from,
            reply_to: self.email_reply_to.as_deref(),
        }))
    }
}
