//! `cargo xtask sqlx`: rewrites or checks the committed `.sqlx`, with which `query!` is checked without a database.
//!
//! psql applies the migrations, not `ctl`: that is built from the `.sqlx` that this command may have to repair. Not by `cargo sqlx prepare`:
//! it updates the modification times of every crate that depends on sqlx, so that the next build compiles them again, and it does not
//! fail on files without a query.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use harness::area::{Checkout, remove};
use harness::cargo::cargo;
use harness::environment::Environment;
use harness::interrupt::Interrupt;
use harness::keys::random_hex;
use harness::process;
use harness::progress::Step;
use harness::servers::postgres::{Postgres, with_database};

/// The one package with SQL.
const PACKAGE: &str = "storage";
/// The mark of a migration that cannot run inside a transaction.
const NO_TRANSACTION: &str = "-- no-transaction";

pub(crate) fn sqlx(checkout: &Checkout, check: bool, interrupt: &Interrupt) -> Result<()> {
    let environment = Environment::start(checkout, checkout.test_area(), interrupt)?;
    let servers = &environment.servers;
    let postgres = servers.postgres.as_ref().context("this needs psql")?;
    let database = format!("sqlx_{}", random_hex::<8>()?);
    postgres.create_database(&servers.database_url, &database)?;
    let url = with_database(&servers.database_url, &database)?;
    let described =
        migrate(checkout, postgres, &url, interrupt).and_then(|()| describe(checkout, &url, interrupt));
    // The server may be external: the database is dropped also after a failure.
    let drop = format!("DROP DATABASE {database} WITH (FORCE)");
    let dropped = postgres.query(&servers.database_url, &drop);
    let described = described?;
    dropped?;

    let committed = checkout.root.join(".sqlx");
    let mut diff = Command::new("diff");
    let Err(differences) = process::output(
        diff.args(["--recursive", "--brief"])
            .args([&committed, &described]),
    ) else {
        println!(".sqlx agrees with the queries and migrations");
        return Ok(());
    };
    if check {
        bail!(".sqlx is out of date; run `cargo xtask sqlx` and commit it\n{differences}");
    }
    remove(&committed)?;
    process::output(Command::new("cp").arg("-R").args([&described, &committed]))?;
    println!(".sqlx rewritten; commit it\n{differences}");
    Ok(())
}

/// In the order of their names, which begin with the time.
fn migrate(checkout: &Checkout, postgres: &Postgres, url: &str, interrupt: &Interrupt) -> Result<()> {
    let files = fs::read_dir(checkout.root.join("migrations"))?;
    let mut files = files
        .map(|file| Ok(file?.path()))
        .collect::<Result<Vec<PathBuf>>>()?;
    files.sort();
    let step = Step::start(format_args!("Applying {} migrations", files.len()));
    for file in &files {
        let mut psql = postgres.psql(url);
        if !fs::read_to_string(file)?.starts_with(NO_TRANSACTION) {
            psql.arg("--single-transaction");
        }
        psql.env("PGOPTIONS", "--client-min-messages=warning");
        psql.args(["-o", "/dev/null", "-f"]).arg(file);
        process::run(&mut psql, interrupt).with_context(|| format!("cannot apply {}", file.display()))?;
    }
    step.done("applied");
    Ok(())
}

/// Compiles the package against the database; the macros write the metadata of every query into the directory that is returned.
fn describe(checkout: &Checkout, url: &str, interrupt: &Interrupt) -> Result<PathBuf> {
    let step = Step::start("Describing the queries");
    // In a separate target directory: the usual one would be rebuilt for the changed environment, and back.
    let target_dir = checkout.target_dir().join("sqlx");
    let described = target_dir.join("described");
    remove(&described)?;
    fs::create_dir_all(&described)?;
    let package = |command: &str, target_dir: &Path| {
        let mut cargo = cargo(checkout);
        cargo
            .args([command, "--quiet", "-p", PACKAGE, "--target-dir"])
            .arg(target_dir);
        cargo
    };
    // A package that is up to date would not be compiled, and would write nothing.
    process::output(&mut package("clean", &target_dir))?;
    let mut check = package("check", &target_dir);
    check
        .arg("--all-features")
        .env("DATABASE_URL", url)
        .env("SQLX_OFFLINE", "false")
        .env("SQLX_OFFLINE_DIR", &described);
    process::run(&mut check, interrupt)?;
    step.done("described");
    Ok(described)
}
