//! The operator's command line.

mod seed;

use anyhow::Context;
use clap::{Parser, Subcommand};
use common::runtime::config::PostgresConfig;
use common::runtime::{postgres, telemetry};
use common::storage::{MIGRATIONS, verify};
use sqlx::PgPool;

/// Operates a referral-tracker installation.
#[derive(Debug, Parser)]
#[command(version)]
struct Cli {
    #[command(flatten)]
    postgres: PostgresConfig,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Bring the database up to this version. Running it again changes nothing.
    Migrate,
    /// Create a demo program with two partners, and print its settings as dotenv lines.
    SeedDemo(seed::SeedDemo),
    /// Check the books and the pipeline: prints what is broken and fails if anything is.
    Verify,
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let cli = Cli::parse();
    telemetry::init("ctl")?;
    let pool = postgres::connect(&cli.postgres, "ctl")
        .await
        .context("connecting to Postgres")?;
    match cli.command {
        Command::Migrate => Ok(MIGRATIONS.run(&pool).await?),
        Command::SeedDemo(seed) => {
            print_lines(&seed.run(&pool, rand::random()).await?);
            Ok(())
        }
        Command::Verify => report(&pool).await,
    }
}

async fn report(pool: &PgPool) -> anyhow::Result<()> {
    let violations = verify::violations(pool).await?;
    for invariant in verify::INVARIANTS {
        let broken = violations
            .iter()
            .find(|violation| violation.invariant == invariant.name);
        let mark = if broken.is_some() { "BROKEN" } else { "ok" };
        print_lines(&[format!("{mark:<7} {}", invariant.name)]);
        if let Some(violation) = broken {
            print_lines(
                &violation
                    .rows
                    .iter()
                    .map(|row| format!("          {row}"))
                    .collect::<Vec<_>>(),
            );
        }
    }
    anyhow::ensure!(
        violations.is_empty(),
        "{} of {} invariants are broken",
        violations.len(),
        verify::INVARIANTS.len()
    );
    Ok(())
}

#[expect(
    clippy::print_stdout,
    reason = "a command line's results belong on standard output"
)]
fn print_lines(lines: &[String]) {
    for line in lines {
        println!("{line}");
    }
}
