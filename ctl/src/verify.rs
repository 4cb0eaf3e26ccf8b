//! `ctl verify`: checks the invariants of the ledger and of the pipeline, and prints one line for each.

use chrono::{NaiveDate, NaiveTime};
use clap::Args;
use sqlx::PgPool;
use storage::operations::verify::divided::divided;
use storage::operations::verify::{INVARIANTS, Violation};

use crate::{output, progress};

#[derive(Debug, Args)]
pub struct Verify {
    /// Only what was stored or refunded since the beginning of this day (UTC), and what is little
    #[arg(long, value_name = "YYYY-MM-DD")]
    since: Option<NaiveDate>,
}

impl Verify {
    pub async fn run(self, pool: &PgPool) -> anyhow::Result<()> {
        let since = self.since.map(|day| day.and_time(NaiveTime::MIN).and_utc());
        let bar = progress::steps(INVARIANTS.len());
        let verified = divided(&mut *pool.acquire().await?, since, |invariant, after| {
            if after.is_empty() {
                bar.inc(1);
            }
            bar.set_message(format!("{invariant} {after}"));
        })
        .await;
        bar.finish_and_clear();
        let verified = verified?;
        for invariant in INVARIANTS.iter() {
            let broken = verified
                .violations
                .iter()
                .find(|violation| violation.invariant == invariant.name);
            report(
                invariant.name,
                broken,
                verified.left_out.contains(&invariant.name),
            );
        }
        anyhow::ensure!(
            verified.violations.is_empty(),
            "{} of {} invariants are broken",
            verified.violations.len(),
            INVARIANTS.len()
        );
        Ok(())
    }
}

fn report(invariant: &str, broken: Option<&Violation>, left_out: bool) {
    let mark = match (broken, left_out) {
        (Some(_), _) => "BROKEN",
        (None, true) => "in part",
        (None, false) => "ok",
    };
    output::lines([format!("{mark:<7} {invariant}")]);
    let rows = broken.into_iter().flat_map(|violation| &violation.rows);
    output::lines(rows.map(|row| format!("          {row}")));
}
