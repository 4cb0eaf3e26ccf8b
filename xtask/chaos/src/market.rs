//! A round's program: a demo program with a connection to a payment processor.

use anyhow::{Context, Result};
use domain::sealed::SealingKeys;
use harness::env_file::EnvFile;
use sqlx::PgPool;
use trials::connect_processor;

#[derive(Debug, Clone)]
pub(super) struct Market {
    pub(super) program_id: i64,
    pub(super) token: String,
    pub(super) codes: [String; 2],
    /// The processor's signing secret.
    pub(super) secret: String,
}

impl Market {
    /// `demo`: what `ctl seed-demo` printed. `keys`: as the services have them.
    pub(super) async fn create(pool: &PgPool, demo: &EnvFile, keys: &SealingKeys) -> Result<Self> {
        let value_of = |name| {
            let value = demo.get(name).with_context(|| format!("no {name}"))?;
            anyhow::Ok(value.to_owned())
        };
        let program_id: i64 = value_of("DEMO_PROGRAM_ID")?.parse()?;
        // The processor's times are whole seconds: those of its first payments are before the program began.
        let earlier = "UPDATE commission_policies SET effective_from = effective_from - interval '1 day'
                       WHERE program_id = $1";
        sqlx::query(earlier).bind(program_id).execute(pool).await?;
        let secret = format!("whsec_of_program_{program_id}_chaos");
        connect_processor(pool, program_id, &secret, keys).await?;
        Ok(Self {
            program_id,
            token: value_of("DEMO_API_KEY")?,
            codes: [value_of("DEMO_AFF_A")?, value_of("DEMO_AFF_B")?],
            secret,
        })
    }
}
