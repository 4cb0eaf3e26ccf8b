//! `ctl secrets`: secrets that the database stores sealed.

use std::process::ExitCode;

use clap::{Args, Subcommand};
use domain::sealed::SealingKeys;
use runtime::config::SecretsConfig;
use sqlx::PgPool;
use storage::operations::sealed_secrets;

use crate::output;

const ABOUT: &str = "\
To replace a key: put the new one in front of the list, restart ingests and webhook consumers, run this, and take
the old key out of the list. Exits with 1 if a secret cannot be opened: its key is missing in the list.

Example:
    SECRETS_KEYS=<new>,<old> ctl secrets reseal";

#[derive(Debug, Subcommand)]
pub enum Secrets {
    /// Seal webhook secrets and those of authenticator apps with the first key, so that the other keys are not needed any more
    Reseal(Reseal),
}

#[derive(Debug, Args)]
#[command(after_help = ABOUT)]
pub struct Reseal {
    #[command(flatten)]
    secrets: SecretsConfig,
}

impl Secrets {
    pub async fn run(self, pool: &PgPool) -> anyhow::Result<ExitCode> {
        let Self::Reseal(Reseal { secrets }) = self;
        let keys = SealingKeys::from(secrets.secrets_keys());
        let found = sealed_secrets::reseal(pool, &keys, rand::random).await?;
        output::lines([format!(
            "{} secrets sealed with the first key, {} were before, {} cannot be opened with any",
            found.resealed, found.current, found.unreadable
        )]);
        Ok(ExitCode::from(u8::from(found.unreadable > 0)))
    }
}
