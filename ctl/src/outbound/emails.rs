//! `ctl emails`: e-mails to people, and addresses that refused them.

use std::process::ExitCode;

use chrono::TimeDelta;
use clap::{Args, Subcommand};
use domain::email::EmailHasher;
use domain::people::account::EmailAddress;
use runtime::clock::Clock;
use runtime::config::KeysConfig;
use sqlx::PgPool;
use storage::outbound::emails;

use crate::output;

/// By this age the first retries have failed.
const TOO_OLD: TimeDelta = TimeDelta::minutes(30);

#[derive(Debug, Subcommand)]
pub enum Emails {
    /// Count e-mails of the last 30 days; exits with 1 if one has waited for more than half an hour
    Status,
    /// Send to an address again that a mail server refused
    Allow(Allow),
}

#[derive(Debug, Args)]
#[command(after_help = "\
An address that a mail server refuses for good is stopped: nothing more is sent to it. Allow it once its mailbox exists.

Example:
    ctl emails allow --email ada@letters.example")]
pub struct Allow {
    /// The address
    #[arg(long, value_name = "ADDRESS", value_parser = EmailAddress::parse)]
    email: EmailAddress,
    #[command(flatten)]
    keys: KeysConfig,
}

impl Emails {
    pub async fn run(self, pool: &PgPool) -> anyhow::Result<ExitCode> {
        match self {
            Self::Status => status(pool).await,
            Self::Allow(allow) => allow.run(pool).await,
        }
    }
}

async fn status(pool: &PgPool) -> anyhow::Result<ExitCode> {
    let status = emails::status(&mut *pool.acquire().await?).await?;
    let rows = [
        ("waiting", status.waiting),
        ("failed attempts", status.failed_attempts),
        ("sent", status.sent),
        ("given up", status.given_up),
        ("stopped", status.stopped),
        ("stopped addresses", status.stopped_addresses),
    ];
    output::lines(rows.map(|(name, count)| format!("{name:<18}{count:>9}")));
    let now = Clock::system().now();
    let waits_too_long = status.oldest_waiting.is_some_and(|oldest| now - oldest > TOO_OLD);
    Ok(ExitCode::from(u8::from(waits_too_long)))
}

impl Allow {
    async fn run(self, pool: &PgPool) -> anyhow::Result<ExitCode> {
        let hashes = EmailHasher::from(self.keys.email_hash_keys()).hashes(self.email.as_str());
        let lifted = emails::lift(&mut *pool.acquire().await?, &hashes).await?;
        output::lines([if lifted {
            "the address gets e-mails again"
        } else {
            "the address was not stopped"
        }]);
        Ok(ExitCode::SUCCESS)
    }
}
