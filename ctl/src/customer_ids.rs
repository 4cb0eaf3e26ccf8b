//! `ctl customer-ids`: prevents a restored database from reusing ids and positions that it has lost.

use clap::Subcommand;
use sqlx::PgPool;
use storage::outbound::outbound_events;
use storage::tracking::customer_ids::{Advanced, advance};

#[derive(Debug, Subcommand)]
pub enum CustomerIds {
    /// Leave out the ids that may have been given out after a backup, if no service has done so since it was restored
    Advance {
        /// Leave out more in any case: the disk was restored from a snapshot, which PostgreSQL takes for a restart
        #[arg(long)]
        snapshot: bool,
    },
}

impl CustomerIds {
    /// Returns one line that describes the result.
    pub async fn run(self, pool: &PgPool) -> anyhow::Result<Vec<String>> {
        let Self::Advance { snapshot } = self;
        let mut transaction = pool.begin().await?;
        let advanced = advance(&mut transaction, snapshot).await?;
        // Cursors of event-stream readers contain positions, so these are advanced, too.
        outbound_events::advance(&mut transaction, snapshot).await?;
        transaction.commit().await?;
        Ok(vec![match advanced {
            Some(Advanced { from, to }) => format!("customer ids advanced from block {from} to {to}"),
            None => "customer ids are ahead already".to_owned(),
        }])
    }
}
