//! A round's program: a demo program with a connection to a payment processor.

use anyhow::{Context, Result};
use domain::ids::ProgramId;
use domain::processors::processor::{ConnectionStatus, ProcessorId, WebhookSecret};
use domain::sealed::SealingKeys;
use harness::env_file::EnvFile;
use runtime::clock::Clock;
use sqlx::PgPool;
use storage::processor::processor_connections::{self, Connection, SealedSecret};

use super::rng::Rng;

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
    pub(super) async fn create(
        pool: &PgPool,
        demo: &EnvFile,
        keys: &SealingKeys,
        rng: &mut Rng,
    ) -> Result<Self> {
        let value_of = |name| {
            let value = demo.get(name).with_context(|| format!("no {name}"))?;
            anyhow::Ok(value.to_owned())
        };
        let program_id: i64 = value_of("DEMO_PROGRAM_ID")?.parse()?;
        let mut transaction = pool.begin().await?;
        // Before the times of a clock that is ten minutes slow.
        sqlx::query(
            "UPDATE commission_policies SET effective_from = effective_from - interval '1 day' WHERE program_id = $1",
        )
        .bind(program_id)
        .execute(&mut *transaction)
        .await?;
        let secret = format!("whsec_of_program_{program_id}_chaos");
        let (id, now) = (ProgramId::new(program_id), Clock::system().now());
        let connection = Connection {
            account_id: ProcessorId::parse(&format!("acct_{program_id}")).context("not an account")?,
            webhook_endpoint_id: None,
            status: ConnectionStatus::Connected,
            charges_enabled: true,
            payouts_enabled: true,
            connected_at: Some(now),
            confirmed_at: Some(now),
            secret: Some(SealedSecret::seal(
                keys,
                id,
                &WebhookSecret::parse(&secret)?,
                rng.bytes(),
            )?),
            previous: None,
        };
        processor_connections::save(&mut transaction, id, &connection, now).await?;
        transaction.commit().await?;
        Ok(Self {
            program_id,
            token: value_of("DEMO_API_KEY")?,
            codes: [value_of("DEMO_AFF_A")?, value_of("DEMO_AFF_B")?],
            secret,
        })
    }
}
