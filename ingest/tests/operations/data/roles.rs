//! Database roles: services have only the rights that they need, readers only read, and neither owns a table.
//! All other tests run their services with the service's rights too ([`TestDatabase::service_url`]).

use runtime::clock::Clock;
use serde_json::json;
use sqlx::{AssertSqlSafe, Connection, PgConnection};
use test_harness::{Stack, succeeds};
use testing::{OwnPostgres, READS, SERVICE, TestDatabase};

const REFUSED: &str = "42501";

/// Migrates a server of the test's own, where the roles sign in themselves with the rights that `ctl migrate`
/// grants.
async fn migrated(server: &OwnPostgres) -> Stack {
    let stack = Stack::on(TestDatabase::create_on(server.url()).await, Clock::system());
    for role in [SERVICE, READS] {
        let nothing_yet = format!("REVOKE ALL ON ALL TABLES IN SCHEMA public FROM {role}");
        sqlx::raw_sql(AssertSqlSafe(nothing_yet))
            .execute(stack.pool())
            .await
            .unwrap();
    }
    succeeds(&stack, &["migrate"]).await;
    stack
}

fn url_as(stack: &Stack, role: &str) -> String {
    stack.database.url.replace("postgres@", &format!("{role}@"))
}

/// PostgreSQL's error for a statement.
async fn refusal(connection: &mut PgConnection, statement: &str) -> Option<String> {
    let answer = sqlx::raw_sql(AssertSqlSafe(statement.to_owned()))
        .execute(connection)
        .await;
    let error = answer.err()?;
    Some(error.as_database_error().unwrap().code().unwrap().into_owned())
}

#[tokio::test(flavor = "multi_thread")]
async fn services_run_the_funnel_in_a_role_that_owns_nothing() {
    let server = OwnPostgres::start();
    let mut stack = migrated(&server).await;
    stack.set("DATABASE_URL", &url_as(&stack, SERVICE));
    stack.set("REPLICA_DATABASE_URL", &url_as(&stack, READS));
    stack.start_services().await;
    let program = stack.program().await;
    stack.customer(&program, &program.ada.code, "user-1").await;
    let sale = json!({ "transaction_id": "t1", "amount_cents": 5000, "customer_key": "user-1" });
    stack.sold(&program, sale).await;
    stack.refunded(&program, json!({ "transaction_id": "t1" })).await;
    stack.verify().await;
    // The role with which other tests run their services has these rights too.
    let mut borrowed = PgConnection::connect(&stack.database.service_url).await.unwrap();
    let drop = refusal(&mut borrowed, "DROP TABLE programs").await;
    assert_eq!(drop.as_deref(), Some(REFUSED));
    let mut service = PgConnection::connect(&url_as(&stack, SERVICE)).await.unwrap();
    for statement in [
        "ALTER TABLE programs ADD COLUMN more integer",
        "ALTER TABLE audit_log DISABLE TRIGGER ALL",
        "DROP TABLE programs",
        "CREATE TABLE more (id integer)",
        "TRUNCATE click_events",
        "TRUNCATE audit_log",
        "DELETE FROM audit_log",
        "DELETE FROM ledger_entries",
        "UPDATE audit_log SET action = ''",
        "UPDATE ledger_entries SET amount_cents = 0",
        "DELETE FROM _sqlx_migrations",
    ] {
        let refusal = refusal(&mut service, statement).await;
        assert_eq!(refusal.as_deref(), Some(REFUSED), "{statement}");
    }
    let months = "SELECT ensure_event_partitions('2031-01-01', 1)";
    assert_eq!(refusal(&mut service, months).await, None);
    // The role drops partitions of past months, and never the current one.
    for horizon in ["now() + interval '1 month'", "'infinity'"] {
        let drop = format!("SELECT retire_event_partition(({horizon})::date)");
        assert_eq!(
            refusal(&mut service, &drop).await.as_deref(),
            Some("P0001"),
            "{horizon}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn readers_read_everything_but_secrets_and_write_nothing() {
    let server = OwnPostgres::start();
    let stack = migrated(&server).await;
    let mut reader = PgConnection::connect(&url_as(&stack, READS)).await.unwrap();
    let tables: Vec<String> = sqlx::query_scalar(
        "SELECT table_name::text FROM information_schema.tables WHERE table_schema = 'public' AND table_type = 'BASE TABLE'",
    )
    .fetch_all(stack.pool())
    .await
    .unwrap();
    for table in tables {
        assert_eq!(
            refusal(&mut reader, &format!("SELECT count(*) FROM {table}")).await,
            None
        );
        let delete = refusal(&mut reader, &format!("DELETE FROM {table}")).await;
        assert_eq!(delete.as_deref(), Some(REFUSED), "{table}");
    }
    let secrets: Vec<(String, String)> = sqlx::query_as(
        "SELECT table_name::text, column_name::text FROM information_schema.columns
         WHERE table_schema = 'public' AND column_name ~ '(password|token|secret|key|code|state).*(hash|sealed)'",
    )
    .fetch_all(stack.pool())
    .await
    .unwrap();
    assert!(secrets.len() >= 8, "{secrets:?}");
    for (table, column) in secrets {
        let refusal = refusal(&mut reader, &format!("SELECT {column} FROM {table}")).await;
        assert_eq!(refusal.as_deref(), Some(REFUSED), "{table}.{column}");
    }
    let months = "SELECT ensure_event_partitions('2031-01-01', 1)";
    assert_eq!(refusal(&mut reader, months).await.as_deref(), Some(REFUSED));
}
