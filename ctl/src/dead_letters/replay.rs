//! Replays dead letters.
//!
//! A sale is replayed by reopening its claim, in the transaction that marks the letter; a worker's relay
//! publishes it. All other records are published here, unchanged. Replaying a record that was processed
//! meanwhile changes nothing. A record that fails again becomes a new dead letter.

use std::collections::HashMap;
use std::process::ExitCode;

use anyhow::Context;
use bus::connect::{Bus, connect};
use bus::publish::Publisher;
use bus::topology::Topology;
use chrono::{DateTime, Utc};
use clap::Args;
use domain::ids::EventId;
use messages::subject::Subject;
use runtime::clock::Clock;
use runtime::config::NatsConfig;
use runtime::lifecycle::Lifecycle;
use serde_json::Value;
use serde_json::value::RawValue;
use sqlx::PgPool;
use storage::operations::dead_letters::{self, KeptLetter};
use storage::tracking::claims;

use crate::{output, progress};

const ABOUT: &str = "\
A sale is recorded by the next worker, refunds that waited for it with it. Replaying a letter again changes
nothing. What fails again becomes a new letter.

Examples:
    ctl dead-letters replay 17
    ctl dead-letters replay --all";

#[derive(Debug, Args)]
#[command(after_help = ABOUT)]
pub struct Replay {
    /// One letter, as the list shows it
    #[arg(required_unless_present = "all", conflicts_with = "all")]
    id: Option<i64>,
    /// All that were not replayed yet, oldest first
    #[arg(long)]
    all: bool,
    #[command(flatten, next_help_heading = "Message bus")]
    nats: NatsConfig,
}

/// The result of replaying a letter.
enum Outcome {
    ClaimOpened,
    Published,
    ReplayedBefore(DateTime<Utc>),
    /// Its subject has another installation's prefix, so no worker of this one would receive it.
    Foreign,
}

impl Replay {
    pub async fn run(self, pool: &PgPool) -> anyhow::Result<ExitCode> {
        let ids = match self.id {
            Some(id) => vec![id],
            None => dead_letters::open_ids(&mut *pool.acquire().await?).await?,
        };
        if ids.is_empty() {
            output::lines(["no dead letters"]);
            return Ok(ExitCode::SUCCESS);
        }
        let mut publisher = ReplayPublisher::open(&self.nats).await?;
        let bar = progress::steps(ids.len());
        let mut all_went = true;
        for id in ids {
            bar.set_message(format!("dead letter {id}"));
            let outcome = publisher
                .replay(pool, id)
                .await
                .with_context(|| format!("replaying dead letter {id}"))?;
            all_went &= !matches!(outcome, Outcome::Foreign);
            bar.suspend(|| output::lines([format!("{id}: {outcome}")]));
            bar.inc(1);
        }
        bar.finish_and_clear();
        Ok(ExitCode::from(u8::from(!all_went)))
    }
}

/// Publishes records to the streams again. Created before a letter is locked, because connecting may wait for
/// an unreachable bus.
struct ReplayPublisher {
    topology: Topology,
    bus: Bus,
    lifecycle: Lifecycle,
    publishers: HashMap<Subject, Publisher>,
}

impl ReplayPublisher {
    async fn open(nats: &NatsConfig) -> anyhow::Result<Self> {
        Ok(Self {
            topology: Topology::from(nats),
            bus: connect(nats, "ctl").await?,
            lifecycle: Lifecycle::new(),
            publishers: HashMap::new(),
        })
    }

    async fn replay(&mut self, pool: &PgPool, id: i64) -> anyhow::Result<Outcome> {
        let mut transaction = pool.begin().await?;
        let letter = dead_letters::lock(&mut transaction, id)
            .await?
            .context("there is no such letter")?;
        if let Some(at) = letter.replayed_at {
            return Ok(Outcome::ReplayedBefore(at));
        }
        let Some(subject) = Subject::of_wire(&letter.subject, &self.topology.prefix) else {
            return Ok(Outcome::Foreign);
        };
        // Before publishing: if a worker dead-letters the record again, it waits for this row's lock and then
        // sees the replay.
        dead_letters::mark_replayed(&mut transaction, id, Clock::system().now()).await?;
        let opened = match (subject, letter.event_id) {
            (Subject::Sales, Some(event_id)) => {
                claims::reopen(&mut transaction, EventId::new(event_id)).await?
            }
            _ => false,
        };
        if !opened {
            self.publish(subject, letter).await?;
        }
        transaction.commit().await?;
        Ok(if opened {
            Outcome::ClaimOpened
        } else {
            Outcome::Published
        })
    }

    async fn publish(&mut self, subject: Subject, letter: KeptLetter) -> anyhow::Result<()> {
        let publisher = self.publishers.entry(subject).or_insert_with(|| {
            let tasks = self.lifecycle.tasks();
            Publisher::spawn(tasks, self.bus.jetstream.clone(), &self.topology, subject, None)
        });
        match record(&letter) {
            Some(record) => publisher.publish_packed(&[record], None).await?,
            None => publisher.publish_message(letter.payload.into()).await?,
        }
        Ok(())
    }
}

/// The letter's record; `None` when the message could not be split into records.
fn record(letter: &KeptLetter) -> Option<Box<RawValue>> {
    let text = String::from_utf8(letter.payload.clone()).ok()?;
    // Only envelopes have a version.
    let is_envelope = |value: &Value| value.get("v").is_some();
    match serde_json::from_str::<Value>(&text) {
        Ok(value) if letter.event_id.is_some() || !is_envelope(&value) => RawValue::from_string(text).ok(),
        _ => None,
    }
}

impl std::fmt::Display for Outcome {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::ClaimOpened => f.write_str("its claim is open again; a worker records the sale"),
            Self::Published => f.write_str("published again"),
            Self::ReplayedBefore(at) => {
                write!(f, "was replayed at {}; nothing done", output::instant(*at))
            }
            Self::Foreign => f.write_str("left: its subject is not of this STREAM_PREFIX"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn letter(payload: &[u8]) -> KeptLetter {
        KeptLetter {
            id: 1,
            subject: "tracking.leads".to_owned(),
            event_id: None,
            payload: payload.to_vec(),
            reason: String::new(),
            deliveries: 1,
            created_at: DateTime::UNIX_EPOCH,
            replayed_at: None,
        }
    }

    #[test]
    fn a_record_is_distinguished_from_a_message() {
        assert_eq!(record(&letter(br#"{"n": 1}"#)).unwrap().get(), r#"{"n": 1}"#);
        for message in [&b"not JSON"[..], br#"{"v":1}"#, b"\xff"] {
            assert!(record(&letter(message)).is_none());
        }
    }
}
