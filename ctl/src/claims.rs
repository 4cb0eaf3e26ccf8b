//! `ctl claims`: rebuilds the claims that a restored database has lost.
//!
//! A worker records a sale only if it has a claim, so the records of sales in the stream need their claims
//! back. Each record becomes a claim, which the relay publishes once all records are read. If several records
//! have the same transaction_id, the last one counts, because the others were refused. Refunds that were
//! refused because these claims were missing are judged again.

use anyhow::Context;
use bus::connect::{Bus, connect};
use bus::history;
use bus::topology::Topology;
use chrono::{DateTime, Utc};
use clap::{Args, Subcommand};
use futures::{StreamExt, pin_mut};
use messages::envelope;
use messages::refund::RefundRecord;
use messages::sale::SaleRecord;
use messages::subject::Subject;
use runtime::config::NatsConfig;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;
use sqlx::PgPool;
use storage::tracking::claims::{self, NewClaim};
use storage::tracking::refused_events;

use crate::key::instant;
use crate::{output, progress};

/// Maximum number of claims opened in one statement.
const OPENED_AT_ONCE: i64 = 1_000;

const ABOUT: &str = "\
For a database that was restored to a moment before its end, once clicks and leads of the lost time are
settled again. Sales that have a claim stay as they are, so it may be repeated.

Example:
    ctl claims rebuild --since 2026-11-22T03:00:00Z";

#[derive(Debug, Subcommand)]
pub enum Claims {
    /// Claim the sales again that the stream holds and a restored database does not; workers then record them
    Rebuild(Rebuild),
}

#[derive(Debug, Args)]
#[command(after_help = ABOUT)]
pub struct Rebuild {
    /// A little before the restored moment, such as 2026-11-22T03:00:00Z: what was refused long before is judged again
    #[arg(long, value_name = "TIME", value_parser = instant)]
    since: DateTime<Utc>,
    #[command(flatten, next_help_heading = "Message bus")]
    nats: NatsConfig,
}

impl Claims {
    /// Returns one line that describes the result.
    pub async fn run(self, pool: &PgPool) -> anyhow::Result<Vec<String>> {
        let Self::Rebuild(Rebuild { since, nats }) = self;
        let bus = connect(&nats, "ctl").await?;
        let topology = Topology::from(&nats);
        let lost = Lost { bus, topology, since };
        let (mut records, mut made) = (0, 0);
        lost.each_message(Subject::Sales, async |message| {
            let claims = claims_of(message)?;
            records += claims.len();
            made += claims::rebuild(pool, &claims).await?;
            Ok(())
        })
        .await?;
        let mut refunds = 0;
        lost.each_message(Subject::Refunds, async |message| {
            let records = refunds_of(message)?;
            let named: Vec<_> = records
                .iter()
                .map(|record| (record.event_id, record.transaction_id.as_str()))
                .collect();
            refunds += refused_events::forget_of_lost_claims(pool, &named).await?;
            Ok(())
        })
        .await?;
        while claims::open_rebuilt(pool, OPENED_AT_ONCE).await? == OPENED_AT_ONCE.unsigned_abs() {}
        Ok(vec![format!(
            "{made} claims made, of {records} records of sales since {}; refunds to be judged again: {refunds}",
            output::instant(since)
        )])
    }
}

/// Reads the messages that the streams hold since the restored moment.
struct Lost {
    bus: Bus,
    topology: Topology,
    since: DateTime<Utc>,
}

impl Lost {
    async fn each_message(
        &self,
        subject: Subject,
        mut each: impl AsyncFnMut(&[u8]) -> anyhow::Result<()>,
    ) -> anyhow::Result<()> {
        let (stored, messages) =
            history::read(&self.bus.jetstream, &self.topology, subject, self.since).await?;
        pin_mut!(messages);
        let bar = progress::steps(stored);
        while let Some(message) = messages.next().await {
            each(&message?).await?;
            bar.inc(1);
        }
        bar.finish_and_clear();
        Ok(())
    }
}

/// The claims of the sales in one message.
fn claims_of(message: &[u8]) -> anyhow::Result<Vec<NewClaim>> {
    let payloads = envelope::decode(message)
        .context("not a message of sales")?
        .records;
    payloads
        .into_iter()
        .map(|payload| {
            let record: SaleRecord = record(&payload)?;
            Ok(NewClaim {
                transaction_id: record.sale.transaction_id.into(),
                program_id: record.program_id,
                event_id: record.event_id,
                reply_to: None,
                payload: Box::<str>::from(payload).into(),
            })
        })
        .collect()
}

fn refunds_of(message: &[u8]) -> anyhow::Result<Vec<RefundRecord>> {
    let payloads = envelope::decode(message)
        .context("not a message of refunds")?
        .records;
    payloads.iter().map(|payload| record(payload)).collect()
}

fn record<R: DeserializeOwned>(payload: &RawValue) -> anyhow::Result<R> {
    serde_json::from_str(payload.get()).context("a record that this release does not know")
}
