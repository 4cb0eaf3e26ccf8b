//! A round's program: a demo program with a connection to a payment processor.

use std::str::FromStr;

use anyhow::{Context, Result};
use domain::ids::ProgramId;
use domain::processor::{ConnectionStatus, ProcessorId, WebhookSecret};
use domain::sealed::SealingKeys;
use harness::env_file::EnvFile;
use runtime::clock::Clock;
use runtime::config::SecretKey;
use sqlx::PgPool;
use storage::processor_connections::{self, Connection, SealedSecret};

use super::reconcile::RATE_BPS;
use super::rng::Rng;

/// A product for which only the customer's first payment earns a commission.
pub(super) const ONCE: &str = "prod_once";

#[derive(Debug, Clone)]
pub(super) struct Market {
    pub(super) program_id: i64,
    pub(super) token: String,
    pub(super) codes: [String; 2],
    /// The processor's signing secret.
    pub(super) secret: String,
}

impl Market {
    /// `demo`: what `ctl seed-demo` printed. `sealing_key`: as the services have it.
    pub(super) async fn found(
        pool: &PgPool,
        demo: &EnvFile,
        sealing_key: &str,
        rng: &mut Rng,
    ) -> Result<Self> {
        let value_of = |name| {
            let value = demo.get(name).with_context(|| format!("no {name}"))?;
            anyhow::Ok(value.to_owned())
        };
        let program_id = ProgramId::new(value_of("DEMO_PROGRAM_ID")?.parse()?);
        let mut transaction = pool.begin().await?;
        // Before the times of a clock that is ten minutes slow.
        sqlx::query(
            "UPDATE commission_policies SET effective_from = effective_from - interval '1 day' WHERE program_id = $1",
        )
        .bind(program_id.get())
        .execute(&mut *transaction)
        .await?;
        sqlx::query(
            "INSERT INTO commission_policies (program_id, product_id, commission_type, rate_bps, effective_from)
             VALUES ($1, $2, 'cps_one_time', $3, now() - interval '1 day')",
        )
        .bind(program_id.get())
        .bind(ONCE)
        .bind(RATE_BPS)
        .execute(&mut *transaction)
        .await?;
        let secret = format!("whsec_of_program_{program_id}_chaos");
        let connection = connection(program_id, &secret, sealing_key, rng)?;
        processor_connections::save(&mut transaction, program_id, &connection, Clock::system().now()).await?;
        transaction.commit().await?;
        Ok(Self {
            program_id: program_id.get(),
            token: value_of("DEMO_API_KEY")?,
            codes: [value_of("DEMO_AFF_A")?, value_of("DEMO_AFF_B")?],
            secret,
        })
    }
}

fn connection(program_id: ProgramId, secret: &str, sealing_key: &str, rng: &mut Rng) -> Result<Connection> {
    let key = SecretKey::from_str(sealing_key)?;
    let keys = SealingKeys::new(key.expose(), &[]);
    let secret = WebhookSecret::parse(secret)?;
    Ok(Connection {
        account_id: ProcessorId::parse(&format!("acct_{program_id}")).context("not an account")?,
        webhook_endpoint_id: None,
        status: ConnectionStatus::Connected,
        charges_enabled: true,
        payouts_enabled: true,
        connected_at: Some(Clock::system().now()),
        confirmed_at: Some(Clock::system().now()),
        secret: Some(SealedSecret::seal(&keys, program_id, &secret, random(rng))?),
        previous: None,
    })
}

fn random<const N: usize>(rng: &mut Rng) -> [u8; N] {
    std::array::from_fn(|_| u8::try_from(rng.below(256)).unwrap_or(0))
}
