//! `ctl key`: tracking tokens of programs.

use anyhow::{bail, ensure};
use chrono::{DateTime, NaiveDate, NaiveTime, Utc};
use clap::{Args, Subcommand};
use domain::ids::ProgramId;
use domain::programs::key_rotation::KeyRotation;
use runtime::clock::Clock;
use serde_json::json;
use sqlx::PgPool;
use storage::program::program_settings;

use crate::audit::{self, Done};
use crate::{output, program};

#[derive(Debug, Subcommand)]
pub enum Key {
    /// Require that a program's key is replaced: it works until the deadline, and every answer announces it
    MarkRotation(MarkRotation),
}

const EXAMPLES: &str = "\
Examples:
    ctl key mark-rotation --program-id 1 --rotate-by 2027-01-31
    ctl key mark-rotation --program-id 1 --rotate-by 2027-01-31T18:00:00Z
    ctl key mark-rotation --program-id 1 --clear";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct MarkRotation {
    /// Whose key
    #[arg(long, value_name = "ID")]
    program_id: i64,
    /// When the key stops working: a date (its first moment, UTC), or a time with its zone
    #[arg(long, value_name = "TIME", value_parser = instant, required_unless_present = "clear", conflicts_with = "clear")]
    rotate_by: Option<DateTime<Utc>>,
    /// Remove the mark
    #[arg(long)]
    clear: bool,
}

impl Key {
    pub async fn run(self, pool: &PgPool) -> anyhow::Result<()> {
        match self {
            Self::MarkRotation(mark) => mark.run(pool).await,
        }
    }
}

impl MarkRotation {
    async fn run(self, pool: &PgPool) -> anyhow::Result<()> {
        let now = Clock::system().now();
        let rotation = self.rotate_by.map(|rotate_by| KeyRotation {
            marked_at: now,
            rotate_by,
        });
        if rotation.is_some_and(|rotation| rotation.is_over(now)) {
            bail!("--rotate-by must be in the future: the key would be refused at once");
        }
        let program_id = ProgramId::new(self.program_id);
        let mut transaction = pool.begin().await?;
        let program = program::find(&mut transaction, program_id).await?;
        ensure!(
            !self.clear || program.rotation.is_some(),
            "the key of program {program_id} is not marked"
        );
        program_settings::mark_rotation(&mut transaction, program_id, rotation).await?;
        let rotate_by = rotation.map(|rotation| output::instant(rotation.rotate_by));
        let action = if self.clear {
            "program_token.unmarked"
        } else {
            "program_token.marked_for_rotation"
        };
        let done = Done::to_program(&program, now, action, json!({ "rotate_by": rotate_by }));
        audit::append(&mut transaction, done).await?;
        transaction.commit().await?;
        output::facts([
            ("program_id", program_id.to_string()),
            ("api_token_masked", program.api_token_masked),
            ("rotate_by", rotate_by.unwrap_or_else(|| "never".to_owned())),
        ]);
        Ok(())
    }
}

/// A date (its first moment, UTC) or a time.
pub(crate) fn instant(text: &str) -> Result<DateTime<Utc>, &'static str> {
    if let Ok(date) = text.parse::<NaiveDate>() {
        return Ok(date.and_time(NaiveTime::MIN).and_utc());
    }
    DateTime::parse_from_rfc3339(text)
        .map(|at| at.with_timezone(&Utc))
        .map_err(|_| "a date such as 2027-01-31, or a time such as 2027-01-31T18:00:00Z")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_deadline_is_a_date_or_a_time_with_its_zone() {
        assert_eq!(
            output::instant(instant("2027-01-31").unwrap()),
            "2027-01-31T00:00:00Z"
        );
        assert_eq!(
            output::instant(instant("2027-01-31T18:00:00+02:00").unwrap()),
            "2027-01-31T16:00:00Z"
        );
        for text in ["", "tomorrow", "2027-01-31T18:00:00", "2027-13-01"] {
            assert!(instant(text).is_err(), "{text}");
        }
    }
}
