//! `ctl claims`: makes the claims again that a restored database has lost.
//!
//! A sale is settled only with its claim, so the records of sales in the stream are of no use without. Each record becomes a claim
//! that the relay publishes once all are read: of several records with one transaction_id the last one counts, because
//! the others were refused before it.

use anyhow::Context;
use bus::connect::connect;
use bus::history;
use bus::topology::Topology;
use chrono::{DateTime, Utc};
use clap::{Args, Subcommand};
use futures::{StreamExt, pin_mut};
use messages::envelope;
use messages::sale::SaleRecord;
use messages::subject::Subject;
use runtime::config::NatsConfig;
use sqlx::PgPool;
use storage::claims::{self, NewClaim};

use crate::key::instant;
use crate::{output, progress};

/// Claims opened in one statement.
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
    /// Returns one line on what was done.
    pub async fn run(self, pool: &PgPool) -> anyhow::Result<Vec<String>> {
        let Self::Rebuild(Rebuild { since, nats }) = self;
        let bus = connect(&nats, "ctl").await?;
        let topology = Topology::from(&nats);
        let (stored, messages) = history::read(&bus.jetstream, &topology, Subject::Sales, since).await?;
        pin_mut!(messages);
        let bar = progress::steps(stored);
        let (mut records, mut made) = (0, 0);
        while let Some(message) = messages.next().await {
            let lost = claims_of(&message?)?;
            records += lost.len();
            made += claims::rebuild(pool, &lost).await?;
            bar.inc(1);
        }
        bar.finish_and_clear();
        while claims::open_rebuilt(pool, OPENED_AT_ONCE).await? == OPENED_AT_ONCE.unsigned_abs() {}
        Ok(vec![format!(
            "{made} claims made, of {records} records of sales since {}",
            output::instant(since)
        )])
    }
}

/// The claims of the records in one message.
fn claims_of(message: &[u8]) -> anyhow::Result<Vec<NewClaim>> {
    let envelope = envelope::decode(message).context("not a message of sales")?;
    envelope
        .records
        .into_iter()
        .map(|payload| {
            let record: SaleRecord =
                serde_json::from_str(payload.get()).context("not the record of a sale")?;
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
