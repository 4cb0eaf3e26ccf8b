//! `ctl limits`: a program's own rate limits, in place of the installation's setting.

use clap::{Args, Subcommand};
use domain::ids::ProgramId;
use runtime::clock::Clock;
use serde_json::json;
use sqlx::PgPool;
use storage::program::program_settings;

use super::find;
use crate::audit::{self, Done};
use crate::output;

#[derive(Debug, Subcommand)]
pub enum Limits {
    /// Let a program send more, or fewer, sales and refunds than SALE_REFUND_LIMIT; takes effect at once
    Set(Set),
    /// Return a program to SALE_REFUND_LIMIT
    Clear(Clear),
}

const EXAMPLES: &str = "\
Example, for a shop with up to 100 sales a second:
    ctl limits set --program-id 1 --sales-and-refunds 6000";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Set {
    /// Which one
    #[arg(long, value_name = "ID")]
    program_id: i64,
    /// A minute, for each of its keys
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(i32).range(1..))]
    sales_and_refunds: i32,
}

#[derive(Debug, Args)]
pub struct Clear {
    /// Which one
    #[arg(long, value_name = "ID")]
    program_id: i64,
}

impl Limits {
    pub async fn run(self, pool: &PgPool) -> anyhow::Result<()> {
        let (program_id, limit) = match self {
            Self::Set(set) => (set.program_id, Some(set.sales_and_refunds)),
            Self::Clear(clear) => (clear.program_id, None),
        };
        let program_id = ProgramId::new(program_id);
        let mut transaction = pool.begin().await?;
        let program = find(&mut transaction, program_id).await?;
        program_settings::limit_sales_and_refunds(&mut transaction, program_id, limit).await?;
        let details = json!({ "sale_refund_limit": limit });
        let done = Done::to_program(&program, Clock::system().now(), "program.limited", details);
        audit::append(&mut transaction, done).await?;
        transaction.commit().await?;
        let limit = limit.map_or_else(|| "SALE_REFUND_LIMIT".to_owned(), |limit| limit.to_string());
        output::facts([
            ("program_id", program_id.to_string()),
            ("sales_and_refunds_a_minute", limit),
        ]);
        Ok(())
    }
}
