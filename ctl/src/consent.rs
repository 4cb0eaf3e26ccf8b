//! Commands that destroy something say what they will do, and do it when a person agrees.

use std::io::{IsTerminal, stdin};

use anyhow::{bail, ensure};
use clap::Args;
use console::Term;

use crate::output;

#[derive(Debug, Clone, Copy, Args)]
pub struct Consent {
    /// Do it without asking; needed where nobody can be asked, as in a script
    #[arg(long, conflicts_with = "dry_run")]
    yes: bool,
    /// Print what would be done, and do nothing
    #[arg(long)]
    dry_run: bool,
}

/// What a command does after it has looked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    Go,
    DryRun,
}

impl Consent {
    /// Whether the effects must be shown before anything is done.
    pub const fn previews(self) -> bool {
        !self.yes
    }

    /// Call it with no transaction open: a person takes their time.
    pub fn ask(self, question: &str) -> anyhow::Result<Verdict> {
        if self.yes {
            return Ok(Verdict::Go);
        }
        if self.dry_run {
            output::lines(["dry run: nothing was changed"]);
            return Ok(Verdict::DryRun);
        }
        if !stdin().is_terminal() {
            bail!("nobody can be asked here: pass --yes to do it, or --dry-run to see what it would do");
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
