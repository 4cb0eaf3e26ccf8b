//! Migrations of a database in use.

use runtime::clock::Clock;
use sqlx::PgPool;
use test_harness::{Stack, ctl, succeeds};

#[tokio::test]
async fn a_migration_that_waits_for_a_reader_gives_up_and_is_tried_again() {
    let stack = Stack::without_services(Clock::system()).await;
    // As before that migration.
    stack
        .execute(
            "ALTER TABLE programs DROP COLUMN sale_refund_limit;
             DELETE FROM _sqlx_migrations WHERE version = 20261125000052",
        )
        .await;
    let mut reader = stack.pool().begin().await.unwrap();
    sqlx::query("SELECT count(*) FROM programs")
        .execute(&mut *reader)
        .await
        .unwrap();
    let released = async {
        for (state, sessions) in [("waits", 1), ("has given up", 0)] {
            stack
                .eventually(state, async || {
                    stack.sessions("wait_event_type = 'Lock'").await == sessions
                })
                .await;
        }
        reader.rollback().await.unwrap();
    };
    tokio::join!(succeeds(&stack, &["migrate"]), released);
    let limit = "information_schema.columns WHERE column_name = 'sale_refund_limit'";
    assert_eq!(stack.count(limit).await, 1);
}

#[tokio::test]
async fn a_database_of_a_newer_release_is_left_as_it_is_and_the_operator_hears_why() {
    let stack = Stack::without_services(Clock::system()).await;
    stack
        .execute(
            "INSERT INTO _sqlx_migrations (version, description, success, checksum, execution_time)
             VALUES (99991231000001, 'of a newer release', true, '', 0)",
        )
        .await;
    let ran = ctl(&stack, &["migrate"]).await;
    assert!(!ran.ok, "{ran:?}");
    for part in [
        "a newer release has migrated this database: it has migration 99991231000001",
        "start its services without `ctl migrate`",
    ] {
        assert!(ran.err.contains(part), "{part} is not in {ran:?}");
    }
}

#[tokio::test]
async fn of_two_runs_at_once_one_waits_for_the_other() {
    let stack = Stack::without_services(Clock::system()).await;
    let url = format!("{}_twice", stack.database.url);
    let (_, name) = url.rsplit_once('/').unwrap();
    stack
        .execute(&format!("CREATE DATABASE {name} TEMPLATE template0"))
        .await;
    let pool = PgPool::connect(&url).await.unwrap();
    let (one, other) = tokio::join!(storage::migrate(&pool), storage::migrate(&pool));
    one.unwrap();
    other.unwrap();
    let invalid: i64 = sqlx::query_scalar("SELECT count(*) FROM pg_index WHERE NOT indisvalid")
        .fetch_one(&pool)
        .await
        .unwrap();
    assert_eq!(invalid, 0);
    pool.close().await;
    stack.execute(&format!("DROP DATABASE {name}")).await;
}
