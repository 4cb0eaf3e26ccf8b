//! Migrations of a database in use.

use std::path::PathBuf;
use std::process::Command;

use runtime::clock::Clock;
use sqlx::PgPool;
use test_harness::{Stack, ctl, succeeds};
use testing::{free_address, from_environment};

/// A database without migrations, beside the stack's own.
struct EmptyDatabase {
    name: String,
    pool: PgPool,
}

impl EmptyDatabase {
    async fn create(stack: &Stack) -> Self {
        let url = format!("{}_empty", stack.database.url);
        let name = url.rsplit_once('/').unwrap().1.to_owned();
        stack
            .execute(&format!("CREATE DATABASE {name} TEMPLATE template0"))
            .await;
        let pool = PgPool::connect(&url).await.unwrap();
        Self { name, pool }
    }

    async fn drop(self, stack: &Stack) {
        self.pool.close().await;
        stack.execute(&format!("DROP DATABASE {}", self.name)).await;
    }
}

#[tokio::test]
async fn a_migration_that_waits_for_a_lock_gives_up_and_is_tried_again() {
    let mut stack = Stack::without_services(Clock::system()).await;
    let empty = EmptyDatabase::create(&stack).await;
    stack
        .execute(&format!("ALTER DATABASE {} SET lock_timeout = '1s'", empty.name))
        .await;
    stack.set("DATABASE_URL", &format!("{}_empty", stack.database.url));
    // The first migration creates a table of this name, and waits for this transaction.
    let mut other = empty.pool.begin().await.unwrap();
    sqlx::query("CREATE TABLE workspaces ()")
        .execute(&mut *other)
        .await
        .unwrap();
    let waiting = format!(
        "pg_stat_activity WHERE datname = '{}' AND wait_event_type = 'Lock'",
        empty.name
    );
    let released = async {
        for (state, sessions) in [("waits", 1), ("has given up", 0)] {
            stack
                .eventually(state, async || stack.count(&waiting).await == sessions)
                .await;
        }
        other.rollback().await.unwrap();
    };
    tokio::join!(succeeds(&stack, "migrate"), released);
    let made: i64 = sqlx::query_scalar("SELECT count(*) FROM workspaces")
        .fetch_one(&empty.pool)
        .await
        .unwrap();
    assert_eq!(made, 0);
    empty.drop(&stack).await;
}

#[tokio::test]
async fn a_database_of_a_newer_release_is_left_as_it_is_and_the_operator_hears_why() {
    let mut stack = Stack::without_services(Clock::system()).await;
    has_migration(&stack, 99_991_231_000_001).await;
    let ran = ctl(&stack, "migrate").await;
    assert!(!ran.ok, "{ran:?}");
    for part in [
        "a newer release has migrated this database: it has migration 99991231000001",
        "start its services without `ctl migrate`",
    ] {
        assert!(ran.err.contains(part), "{part} is not in {ran:?}");
    }
    // During the rollout of a newer release, services of this release start again on its database.
    stack.start_services().await;
}

#[tokio::test]
async fn a_database_from_before_the_baseline_is_refused_by_every_program() {
    let stack = Stack::without_services(Clock::system()).await;
    has_migration(&stack, 20_261_121_000_001).await;
    let ran = ctl(&stack, "migrate").await;
    assert!(!ran.ok, "{ran:?}");
    let mut refusals = vec![("ctl migrate", ran.err)];
    for (name, role) in [
        ("ingest", "pipeline"),
        ("worker", "pipeline"),
        ("worker", "delivery"),
        ("webhook-consumer", "pipeline"),
    ] {
        let mut program = Command::new(PathBuf::from(from_environment("RT_BIN_DIR")).join(name));
        program
            .envs(stack.environment(free_address()))
            .env("WORKER_ROLE", role);
        let ended = tokio::task::spawn_blocking(move || program.output().unwrap())
            .await
            .unwrap();
        assert!(!ended.status.success(), "{name}: {ended:?}");
        let log = [ended.stdout, ended.stderr].concat();
        refusals.push((name, String::from_utf8(log).unwrap()));
    }
    for (program, refusal) in refusals {
        for part in ["it has migration 20261121000001", "`cargo xtask dev --reset`"] {
            assert!(refusal.contains(part), "{program}: {part} is not in {refusal}");
        }
    }
}

/// Records this migration in the database.
async fn has_migration(stack: &Stack, version: i64) {
    stack
        .execute(&format!(
            "INSERT INTO _sqlx_migrations (version, description, success, checksum, execution_time)
             VALUES ({version}, 'of another build', true, '', 0)"
        ))
        .await;
}

#[tokio::test]
async fn of_two_runs_at_once_one_waits_for_the_other() {
    let stack = Stack::without_services(Clock::system()).await;
    let empty = EmptyDatabase::create(&stack).await;
    let (one, other) = tokio::join!(storage::migrate(&empty.pool), storage::migrate(&empty.pool));
    one.unwrap();
    other.unwrap();
    empty.drop(&stack).await;
}
