//! `ctl verify`: the invariants of the ledger and of the pipeline, one a line.

use sqlx::PgPool;
use storage::verify::{self, INVARIANTS, Violation};

use crate::{output, progress};

pub async fn run(pool: &PgPool) -> anyhow::Result<()> {
    let bar = progress::steps(INVARIANTS.len());
    let found = verify::violations_with_progress(pool, |name| {
        bar.set_message(name);
        bar.inc(1);
    })
    .await;
    bar.finish_and_clear();
    let violations = found?;
    for invariant in INVARIANTS {
        report(
            invariant.name,
            violations
                .iter()
                .find(|violation| violation.invariant == invariant.name),
        );
    }
    anyhow::ensure!(
        violations.is_empty(),
        "{} of {} invariants are broken",
        violations.len(),
        INVARIANTS.len()
    );
    Ok(())
}

fn report(invariant: &str, broken: Option<&Violation>) {
    let mark = if broken.is_some() { "BROKEN" } else { "ok" };
    output::lines([format!("{mark:<7} {invariant}")]);
    let rows = broken.into_iter().flat_map(|violation| &violation.rows);
    output::lines(rows.map(|row| format!("          {row}")));
}
