//! `ctl balances`: recomputes balances from the ledger.

use clap::Subcommand;
use sqlx::PgPool;
use storage::money::ledger;

use crate::progress;

#[derive(Debug, Subcommand)]
pub enum Balances {
    /// Set every balance to what the ledger adds up to; sales and payouts wait meanwhile
    Rebuild,
}

impl Balances {
    /// Returns one line that describes the result.
    pub async fn run(&self, pool: &PgPool) -> anyhow::Result<Vec<String>> {
        let Self::Rebuild = self;
        let spinner = progress::waiting("Adding up the ledger");
        let wrong = ledger::rebuild_balances(pool).await;
        spinner.finish_and_clear();
        Ok(vec![format!("balances rebuilt, {} were wrong", wrong?)])
    }
}
