//! `ctl processor-events`: unfinished events of payment processors: list, show, replay, close.

use std::process::ExitCode;

use anyhow::{Context, ensure};
use clap::{Args, Subcommand, ValueEnum};
use domain::ids::ProgramId;
use runtime::clock::Clock;
use serde_json::json;
use sqlx::{PgConnection, PgPool};
use storage::processor::processor_inbox::{self, ClosedEvent, KeptEvent};
use uuid::Uuid;

use crate::consent::Consent;
use crate::{output, program};

/// Maximum length of a reason in a list.
const SHOWN_CHARACTERS: usize = 160;

const ABOUT: &str = "\
The webhook consumer takes them up within a second. What is recognised as done already changes nothing, and what cannot
be settled still is parked or stuck again.

Examples:
    ctl processor-events replay 0199c1f2-7f5e-7c3a-9d5e-3f1f7a6b2c10
    ctl processor-events replay --state stuck";

#[derive(Debug, Subcommand)]
pub enum ProcessorEvents {
    /// List them, oldest first, a line each: id, time, program, state, kind, reason
    List(List),
    /// Show one
    Show(Show),
    /// Retry them, once what they waited for exists
    Replay(Replay),
    /// Close one that a person has settled outside the service, or that cannot be used
    Close(Close),
}

domain::text_enum! {
    /// State of an event.
    #[derive(ValueEnum)]
    pub enum State {
        /// In the pipeline
        Open = "open",
        /// Waits for something, such as its customer or its sale
        Parked = "parked",
        Done = "done",
        /// Concerns no program
        Ignored = "ignored",
        /// A person must look
        Review = "review",
        /// Could not be translated, or was given up
        Stuck = "stuck",
    }
}

impl State {
    const UNFINISHED: [Self; 4] = [Self::Open, Self::Parked, Self::Review, Self::Stuck];
    const WAIT_FOR_A_PERSON: [Self; 2] = [Self::Review, Self::Stuck];
}

#[derive(Debug, Args)]
pub struct List {
    /// Only those in this state; without it, all that are not done or ignored
    #[arg(long)]
    state: Option<State>,
    /// Only this program's
    #[arg(long, value_name = "PROGRAM_ID")]
    program: Option<i64>,
    /// So many at most
    #[arg(long, default_value_t = 50, value_parser = clap::value_parser!(i64).range(1..=10_000))]
    limit: i64,
}

#[derive(Debug, Args)]
pub struct Show {
    /// As the list shows it
    id: Uuid,
    /// Also the event as received; it contains personal data
    #[arg(long)]
    payload: bool,
}

#[derive(Debug, Args)]
pub struct Close {
    /// As the list shows it; in state review or stuck
    id: Uuid,
    #[command(flatten)]
    consent: Consent,
}

#[derive(Debug, Args)]
#[command(after_help = ABOUT)]
pub struct Replay {
    /// One event, as the list shows it
    #[arg(required_unless_present = "state", conflicts_with = "state")]
    id: Option<Uuid>,
    /// All in this state, oldest first
    #[arg(long)]
    state: Option<State>,
}

impl ProcessorEvents {
    pub async fn run(self, pool: &PgPool) -> anyhow::Result<ExitCode> {
        match self {
            Self::List(list) => list.run(pool).await?,
            Self::Show(show) => show.run(pool).await?,
            Self::Replay(replay) => return replay.run(pool).await,
            Self::Close(close) => close.run(pool).await?,
        }
        Ok(ExitCode::SUCCESS)
    }
}

impl List {
    async fn run(self, pool: &PgPool) -> anyhow::Result<()> {
        let states: Vec<&str> = match &self.state {
            Some(state) => vec![state.as_str()],
            None => State::UNFINISHED.map(State::as_str).to_vec(),
        };
        let mut connection = pool.acquire().await?;
        let events = processor_inbox::list(&mut connection, &states, self.program, self.limit).await?;
        output::list(&events, "no processor events", line);
        Ok(())
    }
}

fn line(event: &KeptEvent) -> String {
    let reason = output::shortened(event.reason.as_deref().unwrap_or_default(), SHOWN_CHARACTERS);
    let line = format!(
        "{}  {}  {:>6}  {:<7}  {}  {reason}",
        event.event_id,
        output::instant(event.received_at),
        program(event),
        event.state,
        output::plain(&event.kind),
    );
    line.trim_end().to_owned()
}

fn program(event: &KeptEvent) -> String {
    event
        .program_id
        .map_or_else(|| "none".to_owned(), |id| id.to_string())
}

impl Show {
    async fn run(self, pool: &PgPool) -> anyhow::Result<()> {
        let mut connection = pool.acquire().await?;
        let event = processor_inbox::find(&mut connection, self.id)
            .await?
            .with_context(|| format!("there is no processor event {}", self.id))?;
        let mut facts = vec![
            ("id", event.event_id.to_string()),
            ("program_id", program(&event)),
            ("processor_event_id", output::plain(&event.processor_event_id)),
            ("kind", output::plain(&event.kind)),
            ("occurred_at", output::instant(event.occurred_at)),
            ("received_at", output::instant(event.received_at)),
            ("state", event.state),
            ("sale_pending", event.sale_pending.to_string()),
            ("payment_pending", event.payment_pending.to_string()),
        ];
        let plain = |name, text: Option<String>| text.map(|text| (name, output::plain(&text)));
        facts.extend(plain("account_id", event.account_id));
        facts.extend(plain("reason", event.reason));
        facts.extend(plain("waits_for", event.waits_for));
        facts.extend(event.relay_after.map(|at| ("relay_after", output::instant(at))));
        output::facts(facts);
        if self.payload {
            let payload = processor_inbox::payload(&mut connection, self.id).await?;
            let payload = payload.context("its payload is gone: it is done, or concerned no program")?;
            output::lines([String::new(), output::readable(payload.as_bytes())]);
        }
        Ok(())
    }
}

impl Replay {
    async fn run(self, pool: &PgPool) -> anyhow::Result<ExitCode> {
        let mut connection = pool.acquire().await?;
        let ids: Vec<Uuid> = match (self.id, self.state) {
            (Some(id), _) => vec![id],
            (None, Some(state)) => {
                ensure!(
                    State::UNFINISHED.contains(&state),
                    "an event that is {} is finished",
                    state.as_str()
                );
                let events =
                    processor_inbox::list(&mut connection, &[state.as_str()], None, i64::MAX).await?;
                events.into_iter().map(|event| event.event_id).collect()
            }
            (None, None) => Vec::new(),
        };
        if ids.is_empty() {
            output::lines(["no processor events"]);
        }
        let mut all_went = true;
        for id in ids {
            let replayed = processor_inbox::replay(&mut connection, id)
                .await
                .with_context(|| format!("replaying processor event {id}"))?;
            all_went &= replayed;
            let outcome = if replayed {
                "open again; the webhook consumer retries it"
            } else {
                "left: it is not there, finished, or no single program's"
            };
            output::lines([format!("{id}: {outcome}")]);
        }
        Ok(ExitCode::from(u8::from(!all_went)))
    }
}

impl Close {
    async fn run(self, pool: &PgPool) -> anyhow::Result<()> {
        let question = "Close this event, and forget what it says?";
        self.consent
            .change(pool, question, async |connection| self.close(connection).await)
            .await
    }

    async fn close(&self, connection: &mut PgConnection) -> anyhow::Result<Vec<String>> {
        let states = State::WAIT_FOR_A_PERSON.map(State::as_str);
        let closed = processor_inbox::close(connection, self.id, &states)
            .await?
            .with_context(|| format!("there is no processor event {} in state review or stuck", self.id))?;
        let lines = vec![
            format!("kind: {}", output::plain(&closed.kind)),
            format!("state: {}", closed.state),
            format!("{}: done", self.id),
        ];
        self.write_down(connection, closed).await?;
        Ok(lines)
    }

    /// Writes the audit log entry. An event without a program has none.
    async fn write_down(&self, connection: &mut PgConnection, closed: ClosedEvent) -> anyhow::Result<()> {
        let Some(program_id) = closed.program_id.map(ProgramId::new) else {
            return Ok(());
        };
        let details = json!({
            "event_id": self.id,
            "processor_event_id": closed.processor_event_id,
            "kind": closed.kind,
            "state": closed.state,
        });
        let done = ("processor_event.closed", details);
        program::append_to_audit_log(connection, program_id, None, done, Clock::system().now()).await
    }
}
