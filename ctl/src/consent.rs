//! Destructive commands show their effects and ask for confirmation.

use std::io::{IsTerminal, stdin};

use anyhow::{bail, ensure};
use clap::Args;
use console::Term;

use sqlx::{PgConnection, PgPool};

use crate::output;

#[derive(Debug, Clone, Copy, Args)]
pub struct Consent {
    /// Do it without asking; required without a terminal, as in a script
    #[arg(long, conflicts_with = "dry_run")]
    yes: bool,
    /// Print what would be done, and do nothing
    #[arg(long)]
    dry_run: bool,
}

/// How a command continues after the preview.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    Go,
    DryRun,
}

impl Consent {
    /// Makes a change, and prints the lines that describe it. Unless `--yes` is given, the change is first
    /// made in a transaction that is rolled back, to show its effects and ask.
    pub async fn change(
        self,
        pool: &PgPool,
        question: &str,
        act: impl AsyncFn(&mut PgConnection) -> anyhow::Result<Vec<String>>,
    ) -> anyhow::Result<()> {
        if self.previews() {
            let mut transaction = pool.begin().await?;
            let lines = act(&mut transaction).await?;
            transaction.rollback().await?;
            output::lines(lines);
            if self.ask(question)? == Verdict::DryRun {
                return Ok(());
            }
        }
        let mut transaction = pool.begin().await?;
        let lines = act(&mut transaction).await?;
        transaction.commit().await?;
        output::lines(lines);
        Ok(())
    }

    /// Whether the effects must be shown first.
    pub const fn previews(self) -> bool {
        !self.yes
    }

    /// Must not be called in an open transaction: a person may take minutes to answer.
    pub fn ask(self, question: &str) -> anyhow::Result<Verdict> {
        if self.yes {
            return Ok(Verdict::Go);
        }
        if self.dry_run {
            output::lines(["dry run: nothing was changed"]);
            return Ok(Verdict::DryRun);
        }
        if !stdin().is_terminal() {
            bail!("no terminal to ask on: pass --yes to do it, or --dry-run to see what it would do");
        }
        let terminal = Term::stderr();
        terminal.write_str(&format!("{question} It cannot be undone. Type yes to go on: "))?;
        ensure!(
            terminal.read_line()?.trim() == "yes",
            "stopped: nothing was changed"
        );
        Ok(Verdict::Go)
    }
}
