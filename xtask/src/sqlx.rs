//! `cargo xtask sqlx`: rewrites or checks the committed `.sqlx`, with which `query!` is checked without a database.
//!
//! psql applies the migrations, not `ctl`: that is built from the `.sqlx` that this command may have to repair. Not by `cargo sqlx prepare`:
//! it updates the modification times of every crate that depends on sqlx, so that the next build compiles them again, and it does not
//! fail on files without a query.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use harness::area::{Checkout, remove};
use harness::cargo::cargo;
use harness::interrupt::Interrupt;
use harness::keys::random_hex;
use harness::process::{self, Running};
use harness::progress::Step;
use harness::servers::postgres::{Postgres, with_database};
use harness::servers::provide_postgres;
use harness::stop::start_empty;

/// The one package with SQL.
const PACKAGE: &str = "storage";
/// The mark of a migration that cannot run inside a transaction.
const NO_TRANSACTION: &str = "-- no-transaction";

/// File names and contents of a directory of described queries.
type Described = BTreeMap<OsString, Vec<u8>>;

pub(crate) fn sqlx(checkout: &Checkout, check: bool, interrupt: &Interrupt) -> Result<()> {
    let area = checkout.test_area();
    let _lock = area.lock()?;
    start_empty(&area)?;
    let mut running = Running::none(&area)?;
    let (postgres, url) = provide_postgres(checkout, &area, &mut running, interrupt)?;

    let database = format!("sqlx_{}", random_hex::<8>()?);
    postgres.create_database(&url, &database)?;
    let scratch_url = with_database(&url, &database)?;
    let described = migrate(checkout, &postgres, &scratch_url, interrupt)
        .and_then(|()| describe(checkout, &scratch_url, interrupt));
    // The server may be external: the database is dropped also after a failure.
    let dropped = postgres.query(&url, &format!("DROP DATABASE {database} WITH (FORCE)"));
    let described = described?;
    dropped?;

    let committed_dir = checkout.root.join(".sqlx");
    let differences = differences(&read_dir(&committed_dir)?, &described);
    if differences.is_empty() {
        println!(
            ".sqlx agrees with the queries and migrations ({} queries)",
            described.len()
        );
        return Ok(());
    }
    ensure!(
        !check,
        ".sqlx is out of date; run `cargo xtask sqlx` and commit it\n{}",
        differences.join("\n")
    );
    replace(&committed_dir, &described)?;
    println!(".sqlx rewritten; commit it\n{}", differences.join("\n"));
    Ok(())
}

fn migrate(checkout: &Checkout, postgres: &Postgres, url: &str, interrupt: &Interrupt) -> Result<()> {
    let migrations = migrations(&checkout.root.join("migrations"))?;
    let step = Step::start(format_args!("Applying {} migrations", migrations.len()));
    for file in &migrations {
        let mut psql = postgres.psql(url);
        if !fs::read_to_string(file)?.starts_with(NO_TRANSACTION) {
            psql.arg("--single-transaction");
        }
        psql.env("PGOPTIONS", "--client-min-messages=warning")
            .args(["-o", "/dev/null", "-f"])
            .arg(file);
        process::run(&mut psql, interrupt).with_context(|| format!("cannot apply {}", file.display()))?;
    }
    step.done("applied");
    Ok(())
}

/// In the order of their numbers, without the down migrations.
fn migrations(dir: &Path) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    if dir.is_dir() {
        for entry in fs::read_dir(dir)? {
            let path = entry?.path();
            let stem = Path::new(path.file_stem().unwrap_or_default());
            if path.extension().is_some_and(|extension| extension == "sql")
                && stem.extension().is_none_or(|direction| direction != "down")
            {
                files.push((number(&stem.to_string_lossy())?, path));
            }
        }
    }
    files.sort();
    Ok(files.into_iter().map(|(_, path)| path).collect())
}

fn number(name: &str) -> Result<u64> {
    name.split('_')
        .next()
        .and_then(|digits| digits.parse().ok())
        .with_context(|| format!("migrations/{name} does not start with a number"))
}

/// Compiles the package against the database; the macros write the metadata of every query.
fn describe(checkout: &Checkout, url: &str, interrupt: &Interrupt) -> Result<Described> {
    let step = Step::start("Describing the queries");
    // In a separate target directory: the usual one would be rebuilt for the changed environment, and back.
    let target_dir = checkout.target_dir().join("sqlx");
    let out_dir = target_dir.join("described");
    remove(&out_dir)?;
    fs::create_dir_all(&out_dir)?;
    // A package that is up to date would not be compiled, and would write nothing.
    process::output(
        cargo(checkout)
            .args(["clean", "--quiet", "-p", PACKAGE, "--target-dir"])
            .arg(&target_dir),
    )?;
    let mut check = cargo(checkout);
    check
        .args([
            "check",
            "--quiet",
            "-p",
            PACKAGE,
            "--all-features",
            "--target-dir",
        ])
        .arg(&target_dir);
    check
        .env("DATABASE_URL", url)
        .env("SQLX_OFFLINE", "false")
        .env("SQLX_OFFLINE_DIR", &out_dir);
    process::run(&mut check, interrupt)?;
    let described = read_dir(&out_dir)?;
    step.done(format_args!("{} queries", described.len()));
    Ok(described)
}

/// A directory that does not exist is empty.
fn read_dir(dir: &Path) -> Result<Described> {
    let mut files = Described::new();
    if dir.is_dir() {
        for entry in fs::read_dir(dir)? {
            let entry = entry?;
            files.insert(entry.file_name(), fs::read(entry.path())?);
        }
    }
    Ok(files)
}

fn replace(dir: &Path, described: &Described) -> Result<()> {
    remove(dir)?;
    fs::create_dir(dir)?;
    for (name, content) in described {
        fs::write(dir.join(name), content)?;
    }
    Ok(())
}

/// One line for each file that is missing, left over or different.
fn differences(committed: &Described, described: &Described) -> Vec<String> {
    let line = |sign: char, name: &OsString| format!("    {sign} {}", name.to_string_lossy());
    let new = described
        .iter()
        .filter_map(|(name, content)| match committed.get(name) {
            None => Some(line('+', name)),
            Some(old) if old != content => Some(line('~', name)),
            Some(_) => None,
        });
    let gone = committed
        .keys()
        .filter(|name| !described.contains_key(*name))
        .map(|name| line('-', name));
    new.chain(gone).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_difference_is_named() {
        let files = |entries: &[(&str, &str)]| -> Described {
            entries
                .iter()
                .map(|(name, text)| (OsString::from(name), text.as_bytes().to_vec()))
                .collect()
        };
        let committed = files(&[("gone", "1"), ("kept", "1"), ("other", "1")]);
        let described = files(&[("kept", "1"), ("new", "1"), ("other", "2")]);
        assert_eq!(
            differences(&committed, &described),
            ["    + new", "    ~ other", "    - gone"]
        );
        assert!(differences(&committed, &committed).is_empty());
    }

    #[test]
    fn a_migration_starts_with_its_number() {
        assert_eq!(number("20261128000001_people.sql").unwrap(), 20_261_128_000_001);
        assert!(number("tenants.sql").is_err());
    }
}
