//! What bench and chaos share: they connect programs to a payment processor, sign as it does, and look at the
//! streams.

use std::time::Duration;

use anyhow::{Context, Result};
use async_nats::ConnectOptions;
use async_nats::jetstream::{self, consumer::PullConsumer};
use domain::ids::ProgramId;
use domain::processors::processor::{ConnectionStatus, ProcessorId, WebhookSecret};
use domain::sealed::SealingKeys;
use harness::env_file::EnvFile;
use harness::servers::Servers;
use hmac::{Hmac, KeyInit, Mac};
use messages::subject::Subject;
use runtime::clock::Clock;
use runtime::config::SecretKey;
use sha2::Sha256;
use sqlx::PgPool;
use storage::processor::processor_connections::{self, Connection, SealedSecret};

const NATS_LIMIT: Duration = Duration::from_secs(3);

/// The services' keys for secrets. `env`: of the services.
pub fn sealing_keys(env: &EnvFile) -> Result<SealingKeys> {
    let key = env.get("SECRETS_KEYS").context("there is no SECRETS_KEYS")?;
    let key: SecretKey = key.parse()?;
    Ok(SealingKeys::new(key.expose(), &[]))
}

/// Connects a program to a payment processor, whose events are signed with this secret.
pub async fn connect_processor(
    pool: &PgPool,
    program_id: i64,
    secret: &str,
    keys: &SealingKeys,
) -> Result<()> {
    let (program_id, now) = (ProgramId::new(program_id), Clock::system().now());
    let secret: WebhookSecret = secret.parse()?;
    // A fixed nonce: the secret is public.
    let sealed = SealedSecret::seal(keys, program_id, &secret, [7; 24])?;
    let account_id = ProcessorId::parse(&format!("acct_{program_id}"));
    let connection = Connection {
        account_id: account_id.context("not an account")?,
        webhook_endpoint_id: None,
        status: ConnectionStatus::Connected,
        charges_enabled: true,
        payouts_enabled: true,
        connected_at: Some(now),
        confirmed_at: Some(now),
        secret: Some(sealed),
        previous: None,
    };
    let mut pooled = pool.acquire().await?;
    Ok(processor_connections::save(&mut pooled, program_id, &connection, now).await?)
}

/// The value of `Stripe-Signature`. `timestamp`: Unix seconds.
#[expect(clippy::expect_used, reason = "HMAC takes keys of any length")]
pub fn signature(secret: &str, timestamp: i64, body: &str) -> String {
    let keyed = Hmac::<Sha256>::new_from_slice(secret.as_bytes()).expect("any length");
    let signed = keyed.chain_update(format!("{timestamp}.{body}")).finalize();
    format!("t={timestamp},v1={}", hex::encode(signed.into_bytes()))
}

/// A connection of its own. Spawns a task.
pub async fn jetstream(servers: &Servers) -> Result<jetstream::Context> {
    let options = ConnectOptions::new().connection_timeout(NATS_LIMIT);
    Ok(jetstream::new(options.connect(&servers.nats_url).await?))
}

/// The number of messages of each stream that are not acknowledged.
pub async fn unsettled(jetstream: &jetstream::Context) -> Result<Vec<(Subject, u64)>> {
    let mut unsettled = Vec::new();
    for subject in Subject::ALL {
        let consumer: PullConsumer = jetstream
            .get_consumer_from_stream(subject.consumer_name(), subject.stream_name(""))
            .await?;
        let info = consumer.cached_info();
        unsettled.push((subject, info.num_pending + u64::try_from(info.num_ack_pending)?));
    }
    Ok(unsettled)
}
