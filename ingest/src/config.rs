//! Settings of the edge, one section for each concern. Each setting is a flag and an environment variable.

use clap::builder::RangedU64ValueParser;
use clap::{Args, Parser, value_parser};
use ipnet::IpNet;
use runtime::config::{
    EmailConfig, KeysConfig, PublicUrlConfig, RedisConfig, SecretText, SecretUrl, SecretsConfig,
    ServiceConfig, WebhookTargetsConfig,
};
use url::Url;

use crate::http::limits::LimitsConfig;
use crate::pages::script_alias::ScriptAlias;
use crate::tracking::visitor_context::OriginConfig;

/// The HTTP edge of the referral tracking pipeline.
#[derive(Debug, Clone, Parser)]
#[command(version)]
pub struct Config {
    #[command(flatten)]
    pub service: ServiceConfig,
    #[command(flatten)]
    pub redis: RedisConfig,
    #[command(flatten)]
    pub keys: KeysConfig,
    #[command(flatten)]
    pub secrets: SecretsConfig,
    #[command(flatten)]
    pub limits: LimitsConfig,
    #[command(flatten)]
    pub callers: CallersConfig,
    #[command(flatten)]
    pub origin: OriginConfig,
    #[command(flatten)]
    pub dashboard: DashboardConfig,
    #[command(flatten)]
    pub script: ScriptConfig,
    #[command(flatten)]
    pub webhook_targets: WebhookTargetsConfig,
    #[command(flatten)]
    pub email: EmailConfig,
}

/// Callers, and how long they wait.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Callers")]
pub struct CallersConfig {
    /// Networks of our own proxies, comma-separated: their X-Forwarded-For is trusted, no other.
    #[arg(long, env = "TRUSTED_PROXIES", value_delimiter = ',')]
    pub trusted_proxies: Vec<IpNet>,
    /// Milliseconds a caller waits for the outcome of a lead, sale or refund before it is answered 500 (unknown).
    #[arg(long, env = "ANSWER_WITHIN_MS", default_value_t = 5000, value_parser = value_parser!(u64).range(1..))]
    pub answer_within_ms: u64,
    /// Maximum number of callers that wait for the pipeline, for each of clicks, leads, sales, refunds and
    /// test events. Eight times as many queue for a second at most; the others are answered 503. Set it to
    /// the number that is answered in half of ANSWER_WITHIN_MS, at most.
    #[arg(
        long,
        env = "MAX_WAITING",
        default_value_t = 2048,
        value_parser = RangedU64ValueParser::<usize>::new().range(1..)
    )]
    pub max_waiting: usize,
}

/// Management and dashboard.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Management and dashboard")]
pub struct DashboardConfig {
    #[command(flatten)]
    pub public: PublicUrlConfig,
    /// Contact for reports of vulnerabilities, as a `mailto:` or `https:` address, for `/.well-known/security.txt`.
    #[arg(long, env = "SECURITY_CONTACT", value_parser = contact)]
    pub security_contact: Option<Url>,
    /// Connections for the management routes, apart from those of the tracking routes.
    #[arg(long, env = "MANAGEMENT_POOL_SIZE", default_value_t = 4, value_parser = value_parser!(u32).range(1..))]
    pub management_pool_size: u32,
    /// Address of a replica, as a `postgres:` URL, for the dashboard's reports. Without one, or while it cannot be reached, reports
    /// are read from the database itself.
    #[arg(
        long,
        env = "REPLICA_DATABASE_URL",
        hide_env_values = true,
        value_parser = SecretUrl::of(&["postgres", "postgresql"])
    )]
    pub replica_database_url: Option<SecretText>,
    /// Connections for the dashboard's reports.
    #[arg(long, env = "READS_POOL_SIZE", default_value_t = 4, value_parser = value_parser!(u32).range(1..))]
    pub reads_pool_size: u32,
}

/// The script on advertisers' pages.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Browser script")]
pub struct ScriptConfig {
    /// Other names of the script, comma-separated, for pages that used another service before:
    /// `/js/NAME-tracker.js`, with a global `NAME` that has the methods of published loaders.
    #[arg(long, env = "SCRIPT_ALIASES", value_delimiter = ',')]
    pub script_aliases: Vec<ScriptAlias>,
}

fn contact(text: &str) -> Result<Url, String> {
    let url = Url::parse(text).map_err(|error| error.to_string())?;
    let is_contact = ["mailto", "https"].contains(&url.scheme());
    is_contact
        .then_some(url)
        .ok_or_else(|| "must be a mailto: or https: address".to_owned())
}
