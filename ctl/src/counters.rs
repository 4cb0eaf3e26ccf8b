//! `ctl counters`: recomputes the counters of links and memberships from clicks.

use clap::Subcommand;
use sqlx::PgPool;
use storage::tracking::clicks;

use crate::progress;

#[derive(Debug, Subcommand)]
pub enum Counters {
    /// Count the clicks of every link and membership again; clicks wait in their stream meanwhile
    Rebuild,
}

impl Counters {
    /// Returns one line that describes the result.
    pub async fn run(&self, pool: &PgPool) -> anyhow::Result<Vec<String>> {
        let Self::Rebuild = self;
        let spinner = progress::waiting("Counting clicks");
        let wrong = clicks::recount(pool).await;
        spinner.finish_and_clear();
        Ok(vec![format!("counters rebuilt, {} were wrong", wrong?)])
    }
}
