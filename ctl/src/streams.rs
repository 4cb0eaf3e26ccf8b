//! `ctl streams`: shows the workers' progress in the streams, and replays streams from their beginning.

use std::process::ExitCode;

use bus::connect::{Bus, connect};
use bus::standing::{Standing, rewind};
use bus::topology::Topology;
use clap::{Args, Subcommand};
use messages::subject::Subject;
use runtime::config::NatsConfig;

use crate::consent::{Consent, Verdict};
use crate::output;

#[derive(Debug, Subcommand)]
pub enum Streams {
    /// Count the messages that wait for workers or are in flight at them; exits with 1 if there are any
    Status(Status),
    /// Deliver everything that streams hold again, from their beginning: for a database that was restored
    Replay(Replay),
}

#[derive(Debug, Args)]
#[command(after_help = "\
A message holds up to 256 records. A stream or consumer that is missing is made by the services, when they start.

After a restore, with a worker running:
    until ctl streams status; do sleep 5; done")]
pub struct Status {
    #[command(flatten, next_help_heading = "Message bus")]
    nats: NatsConfig,
}

const ABOUT: &str = "\
Deletes the consumers of these streams. Workers make them again, and read everything that the streams hold. What is
in the database is recognised and changes nothing, so this may be repeated.

Examples:
    ctl streams replay clicks leads --dry-run
    ctl streams replay clicks leads --yes";

#[derive(Debug, Args)]
#[command(after_help = ABOUT)]
pub struct Replay {
    /// Which, such as clicks; as `status` lists them
    #[arg(required = true, value_name = "NOUN", value_parser = noun)]
    nouns: Vec<Subject>,
    #[command(flatten)]
    consent: Consent,
    #[command(flatten, next_help_heading = "Message bus")]
    nats: NatsConfig,
}

fn noun(text: &str) -> Result<Subject, String> {
    let named = Subject::ALL.into_iter().find(|subject| subject.noun() == text);
    named.ok_or_else(|| format!("must be one of {}", Subject::ALL.map(Subject::noun).join(", ")))
}

impl Streams {
    pub async fn run(self) -> anyhow::Result<ExitCode> {
        match self {
            Self::Status(status) => status.run().await,
            Self::Replay(replay) => replay.run().await,
        }
    }
}

impl Status {
    async fn run(self) -> anyhow::Result<ExitCode> {
        let installation = Installation::connect(&self.nats).await?;
        let mut all_settled = true;
        for subject in Subject::ALL {
            let standing = installation.standing(subject).await?;
            all_settled &= standing.is_settled();
            let state = match standing {
                Standing::NoStream => format!("no stream {}", installation.topology.stream_name(subject)),
                Standing::NoConsumer { stored } => {
                    format!("no consumer {}, to be read: {stored}", subject.consumer_name())
                }
                Standing::Reading {
                    waiting, in_flight, ..
                } => format!("{waiting:>9} waiting{in_flight:>9} in flight"),
            };
            output::lines([format!("{:<16}{state}", subject.noun())]);
        }
        Ok(ExitCode::from(u8::from(!all_settled)))
    }
}

impl Replay {
    async fn run(self) -> anyhow::Result<ExitCode> {
        let installation = Installation::connect(&self.nats).await?;
        if self.consent.previews() {
            for subject in &self.nouns {
                output::lines([installation.effect(*subject, installation.standing(*subject).await?)]);
            }
            if self.consent.ask("Deliver all of that?")? == Verdict::DryRun {
                return Ok(ExitCode::SUCCESS);
            }
        }
        for subject in self.nouns {
            let standing = installation.standing(subject).await?;
            if standing != Standing::NoStream {
                rewind(&installation.bus.jetstream, &installation.topology, subject).await?;
            }
            output::lines([installation.effect(subject, standing)]);
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// The streams, under this installation's names.
struct Installation {
    bus: Bus,
    topology: Topology,
}

impl Installation {
    async fn connect(nats: &NatsConfig) -> anyhow::Result<Self> {
        Ok(Self {
            bus: connect(nats, "ctl").await?,
            topology: Topology::from(nats),
        })
    }

    async fn standing(&self, subject: Subject) -> anyhow::Result<Standing> {
        Standing::of(&self.bus.jetstream, &self.topology, subject).await
    }

    /// The effect of deleting the consumer.
    fn effect(&self, subject: Subject, standing: Standing) -> String {
        match standing {
            Standing::NoStream => {
                let stream = self.topology.stream_name(subject);
                format!("{subject}: no stream {stream}, nothing to do")
            }
            Standing::NoConsumer { stored } => {
                let consumer = subject.consumer_name();
                format!("{subject}: no consumer {consumer}, nothing to do; messages to be read: {stored}")
            }
            Standing::Reading { stored, waiting, .. } => {
                let again = stored.saturating_sub(waiting);
                format!("{subject}: messages to be read from the beginning: {stored}, of them again: {again}")
            }
        }
    }
}
