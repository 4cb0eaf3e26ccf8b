//! `ctl outbox`: counts work in flight.

use std::process::ExitCode;

use chrono::{DateTime, TimeDelta, Utc};
use clap::Subcommand;
use sqlx::PgPool;
use storage::operations::pipeline_status::{self, Waiting};

use crate::output;

/// Work normally takes seconds. Older work needs an operator.
const TOO_OLD: TimeDelta = TimeDelta::minutes(1);

#[derive(Debug, Subcommand)]
pub enum Outbox {
    /// Count work in flight; exits with 1 if anything has waited for more than a minute
    #[command(after_help = "\
Claims are the sales of callers, dead claims those that were given up (see ctl dead-letters). The outbox
holds what follows a commit. Parked refunds wait for their sale.

For monitoring:
    ctl outbox status > /dev/null || alert \"the pipeline does not keep up\"")]
    Status,
}

impl Outbox {
    pub async fn run(self, pool: &PgPool) -> anyhow::Result<ExitCode> {
        let Self::Status = self;
        let status = pipeline_status::read(&mut *pool.acquire().await?).await?;
        let dead_claims = Waiting {
            count: status.dead_claims,
            oldest: None,
        };
        let rows = [
            ("open claims", status.open_claims),
            ("dead claims", dead_claims),
            ("outbox rows", status.outbox),
            ("parked refunds", status.parked_refunds),
            ("dead letters", status.dead_letters),
        ];
        output::lines(rows.map(|(name, waiting)| line(name, waiting, status.now)));
        let waits_too_long = [status.open_claims, status.outbox, status.parked_refunds]
            .iter()
            .filter_map(|waiting| waiting.oldest)
            .any(|oldest| status.now - oldest > TOO_OLD);
        Ok(ExitCode::from(u8::from(waits_too_long)))
    }
}

fn line(name: &str, waiting: Waiting, now: DateTime<Utc>) -> String {
    let line = format!("{name:<16}{:>9}", waiting.count);
    match waiting.oldest {
        Some(oldest) => format!(
            "{line}   oldest {} ({} s)",
            output::instant(oldest),
            (now - oldest).num_seconds()
        ),
        None => line,
    }
}
