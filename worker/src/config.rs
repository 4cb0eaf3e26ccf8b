//! Settings of a worker, one section per concern. Each setting is a flag and an environment variable.

use std::path::PathBuf;

use chrono::{Days, Months};
use clap::{Args, Parser, ValueEnum};
use runtime::config::{KeysConfig, ServiceConfig};

use crate::upkeep::Retention;

/// What a worker does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Role {
    /// The steps of the pipeline, and periodic tasks.
    Pipeline,
    /// Sends webhooks and e-mails. It has settings of its own.
    Delivery,
}

#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Role")]
pub struct RoleConfig {
    /// What this worker does: `pipeline`, the steps and periodic tasks, or `delivery`, which sends webhooks and e-mails and needs neither NATS nor the keys of
    /// click ids.
    #[arg(long, env = "WORKER_ROLE", value_enum, default_value_t = Role::Pipeline)]
    pub role: Role,
}

/// Only the role, which decides what other settings are read.
#[derive(Debug, Parser)]
#[command(ignore_errors = true, disable_help_flag = true, disable_version_flag = true)]
struct RoleOnly {
    #[command(flatten)]
    config: RoleConfig,
}

/// The role of this process. An invalid role counts as the default here; parsing all settings reports it.
pub fn role() -> Role {
    RoleOnly::try_parse().map_or(Role::Pipeline, |only| only.config.role)
}

/// Runs the steps of the referral tracking pipeline.
#[derive(Debug, Clone, Parser)]
#[command(version)]
pub struct Config {
    /// HTTP for `/livez` and `/readyz` only.
    #[command(flatten)]
    pub service: ServiceConfig,
    #[command(flatten)]
    pub role: RoleConfig,
    #[command(flatten)]
    pub keys: KeysConfig,
    /// Database in MaxMind's format, of cities or of countries, by which clicks are located. It needs an ingest
    /// with SEND_CLIENT_IP.
    #[arg(long, env = "GEOIP_DB_PATH", help_heading = "Visitors")]
    pub geoip_db_path: Option<PathBuf>,
    /// A sale that follows its customer's first click sooner than this many seconds is flagged (`fast_sale`).
    #[arg(long, env = "FAST_SALE_SECONDS", default_value_t = 10, help_heading = "Sales")]
    pub fast_sale_seconds: u32,
    /// Leads of browsers for one link within an hour; those beyond are flagged (`many_leads`). Each worker
    /// counts its own.
    #[arg(
        long,
        env = "MANY_LEADS_PER_LINK",
        default_value_t = 100,
        help_heading = "Leads"
    )]
    pub many_leads_per_link: u32,
    /// Whole months for which single clicks and leads are kept, besides the current one; for ever if not set.
    /// Their sums stay, and so do sales, commissions and customers. Customers who only clicked are dropped
    /// with their events, once the program's windows have passed.
    #[arg(long, env = "EVENT_RETENTION_MONTHS", help_heading = "Retention", value_parser = clap::value_parser!(u32).range(1..=1_200))]
    pub event_retention_months: Option<u32>,
    /// The same in whole days, for many events: 8, because streams deliver again for a week, to 92, because
    /// each day is a partition.
    #[arg(long, env = "EVENT_RETENTION_DAYS", help_heading = "Retention", conflicts_with = "event_retention_months",
        value_parser = clap::value_parser!(u32).range(8..=92))]
    pub event_retention_days: Option<u32>,
}

impl Config {
    pub(crate) fn retention(&self) -> Retention {
        match (self.event_retention_days, self.event_retention_months) {
            (Some(days), _) => Retention::Days(Days::new(days.into())),
            (None, Some(months)) => Retention::Months(Months::new(months)),
            (None, None) => Retention::Forever,
        }
    }
}
