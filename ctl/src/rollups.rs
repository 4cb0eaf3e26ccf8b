//! `ctl rollups`: recomputes rollups from the rows they count.

use clap::Subcommand;
use domain::ids::ProgramId;
use sqlx::PgPool;
use storage::reads::rollups;

use crate::progress;

#[derive(Debug, Subcommand)]
pub enum Rollups {
    /// Recompute the days from events, sales and commissions, also under traffic
    Rebuild {
        /// This program's only; every program's if not given
        #[arg(long)]
        program_id: Option<i64>,
    },
}

impl Rollups {
    /// Returns one line that describes the result.
    pub async fn run(&self, pool: &PgPool) -> anyhow::Result<Vec<String>> {
        let Self::Rebuild { program_id } = self;
        let known = rollups::programs(pool).await?;
        let programs = match program_id.map(ProgramId::new) {
            None => known,
            Some(named) if known.contains(&named) => vec![named],
            Some(named) => anyhow::bail!("there is no program {named}"),
        };
        let progress = progress::steps(programs.len());
        for program_id in &programs {
            progress.set_message(format!("program {program_id}"));
            rollups::rebuild(pool, *program_id).await?;
            progress.inc(1);
        }
        progress.finish_and_clear();
        Ok(vec![format!("rollups of {} programs rebuilt", programs.len())])
    }
}
