//! From the first release on, migrations only add (`docs/upgrade.md`): the previous release must run on the next one's database, and
//! traffic on a large table must not wait. squawk finds what does not.
//!
//! Until the first tag the baseline is edited in place, and is the only schema.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use harness::area::Checkout;
use harness::process::output;

use super::Linters;

/// The last migration of the baseline.
const BASELINE: &str = "20261128000008";
/// Rules that we do not have: a failed migration is undone whole, and `ctl migrate` limits its time.
const NOT_OURS: [&str; 3] = [
    "prefer-robust-stmts",
    "require-statement-timeout",
    "ban-drop-not-null",
];
/// What the previous release may still use. A comment that begins with `contract:` says which release used it last.
const REMOVALS: [&str; 9] = [
    "adding-not-nullable-field",
    "ban-drop-column",
    "ban-drop-default",
    "ban-drop-function",
    "ban-drop-table",
    "ban-drop-view",
    "changing-column-type",
    "renaming-column",
    "renaming-table",
];

pub(super) fn check(checkout: &Checkout, linters: &Linters, work: &Path) -> Result<String> {
    let mut checked = 0;
    for entry in fs::read_dir(checkout.root.join("migrations"))? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if name.split('_').next() > Some(BASELINE) {
            squawk(linters, &path).with_context(|| format!("{name}: see docs/upgrade.md"))?;
            checked += 1;
        }
    }
    let removal = work.join("removal.sql");
    fs::write(&removal, "SET LOCAL lock_timeout = '100ms';\nDROP VIEW v;\n")?;
    ensure!(squawk(linters, &removal).is_err(), "squawk takes a removal");
    Ok(format!("{checked} after the baseline"))
}

fn squawk(linters: &Linters, migration: &Path) -> Result<()> {
    let sql = fs::read_to_string(migration)?;
    let is_contract = sql.lines().any(|line| line.starts_with("-- contract:"));
    let mut squawk = linters.python("squawk");
    if sql.starts_with("-- no-transaction") {
        // One statement alone, which waits for no lock that others want.
        squawk.arg("--exclude=require-lock-timeout");
    } else {
        squawk.arg("--assume-in-transaction");
    }
    let removals = REMOVALS.iter().filter(|_| is_contract);
    for rule in NOT_OURS.iter().chain(removals) {
        squawk.arg(format!("--exclude={rule}"));
    }
    // squawk has no rule for it.
    let takes_trigger = sql.to_uppercase().contains("DROP TRIGGER");
    ensure!(is_contract || !takes_trigger, "DROP TRIGGER");
    output(squawk.arg(migration)).map(drop)
}
