//! `ctl dead-letters`: lists, shows and replays records that no retry could process.

mod replay;

use std::process::ExitCode;

use anyhow::Context;
use clap::{Args, Subcommand};
use sqlx::PgPool;
use storage::operations::dead_letters::{self, KeptLetter};

use crate::output;

/// Maximum length of a reason in a list.
const SHOWN_CHARACTERS: usize = 160;

#[derive(Debug, Subcommand)]
pub enum DeadLetters {
    /// List them, oldest first, a line each: id, time, subject, reason
    List(List),
    /// Show one whole; its payload may hold personal data
    Show {
        /// As the list shows it
        id: i64,
    },
    /// Publish them again, once the cause is fixed
    Replay(replay::Replay),
}

#[derive(Debug, Args)]
pub struct List {
    /// Those that were replayed, too
    #[arg(long)]
    all: bool,
    /// So many at most
    #[arg(long, default_value_t = 50, value_parser = clap::value_parser!(i64).range(1..=10_000))]
    limit: i64,
    /// Only those with a greater id: the next page of a long list
    #[arg(long, value_name = "ID", default_value_t = 0)]
    after: i64,
}

impl DeadLetters {
    pub async fn run(self, pool: &PgPool) -> anyhow::Result<ExitCode> {
        match self {
            Self::List(list) => list.run(pool).await?,
            Self::Show { id } => show(pool, id).await?,
            Self::Replay(replay) => return replay.run(pool).await,
        }
        Ok(ExitCode::SUCCESS)
    }
}

impl List {
    async fn run(self, pool: &PgPool) -> anyhow::Result<()> {
        let mut connection = pool.acquire().await?;
        let letters = dead_letters::list(&mut connection, self.after, self.all, self.limit).await?;
        output::list(&letters, "no dead letters", line);
        Ok(())
    }
}

fn line(letter: &KeptLetter) -> String {
    let reason = output::shortened(&letter.reason, SHOWN_CHARACTERS);
    let replayed = if letter.replayed_at.is_some() {
        "  (replayed)"
    } else {
        ""
    };
    format!(
        "{:>6}  {}  {}{replayed}  {reason}",
        letter.id,
        output::instant(letter.created_at),
        letter.subject,
    )
}

async fn show(pool: &PgPool, id: i64) -> anyhow::Result<()> {
    let mut connection = pool.acquire().await?;
    let letter = dead_letters::find(&mut connection, id)
        .await?
        .with_context(|| format!("there is no dead letter {id}"))?;
    let mut facts = vec![
        ("id", letter.id.to_string()),
        ("subject", letter.subject),
        ("created_at", output::instant(letter.created_at)),
        ("deliveries", letter.deliveries.to_string()),
        ("reason", output::plain(&letter.reason)),
    ];
    facts.extend(letter.event_id.map(|id| ("event_id", id.to_string())));
    facts.extend(letter.replayed_at.map(|at| ("replayed_at", output::instant(at))));
    output::facts(facts);
    output::lines([String::new(), output::readable(&letter.payload)]);
    Ok(())
}
