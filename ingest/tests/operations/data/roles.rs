//! Database roles: services have only the rights that they need, readers only read, and neither owns a table.
//! All other tests run their services with the service's rights too ([`TestDatabase::service_url`]).

use runtime::clock::Clock;
use serde_json::json;
use sqlx::{AssertSqlSafe, Connection, PgConnection};
use test_harness::{Stack, sale_of, succeeds};
use testing::{OwnPostgres, READS, SERVICE, TestDatabase};

const REFUSED: &str = "42501";

/// Migrates a server of the test's own, where the roles sign in themselves with the rights that `ctl migrate`
/// grants.
async fn migrated(server: &OwnPostgres) -> Stack {
    let stack = Stack::on(TestDatabase::create_on(server.url()).await, Clock::system());
    for role in [SERVICE, READS] {
        let nothing_yet = format!("REVOKE ALL ON ALL TABLES IN SCHEMA public FROM {role}");
        stack.execute(&nothing_yet).await;
    }
    succeeds(&stack, "migrate").await;
    stack
}

fn url_as(stack: &Stack, role: &str) -> String {
    stack.database.url.replace("postgres@", &format!("{role}@"))
}

/// PostgreSQL's error for a statement.
async fn refusal(connection: &mut PgConnection, statement: &str) -> Option<String> {
    let statement = AssertSqlSafe(statement.to_owned());
    let error = sqlx::raw_sql(statement).execute(connection).await.err()?;
    Some(error.as_database_error().unwrap().code().unwrap().into_owned())
}

async fn refused(connection: &mut PgConnection, statement: &str) {
    let refusal = refusal(connection, statement).await;
    assert_eq!(refusal.as_deref(), Some(REFUSED), "{statement}");
}

#[tokio::test(flavor = "multi_thread")]
async fn services_run_the_funnel_in_a_role_that_owns_nothing() {
    let server = OwnPostgres::start();
    let mut stack = migrated(&server).await;
    stack.set("DATABASE_URL", &url_as(&stack, SERVICE));
    stack.set("REPLICA_DATABASE_URL", &url_as(&stack, READS));
    stack.start_services().await;
    let program = stack.program_with_customer().await;
    stack.sold(&program, sale_of("t1", "user-1")).await;
    stack.refunded(&program, json!({ "transaction_id": "t1" })).await;
    stack.verify().await;
    // The role with which other tests run their services has these rights too.
    let mut borrowed = PgConnection::connect(&stack.database.service_url).await.unwrap();
    refused(&mut borrowed, "DROP TABLE programs").await;
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
        refused(&mut service, statement).await;
    }
    let months = "SELECT ensure_event_partitions('2031-01-01', 1)";
    assert_eq!(refusal(&mut service, months).await, None);
    // The role drops partitions of past months, and never the current one.
    for horizon in ["now() + interval '1 month'", "'infinity'"] {
        let drop = format!("SELECT retire_event_partition(({horizon})::date)");
        let refusal = refusal(&mut service, &drop).await;
        assert_eq!(refusal.as_deref(), Some("P0001"), "{horizon}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn readers_read_everything_but_secrets_and_write_nothing() {
    let server = OwnPostgres::start();
    let stack = migrated(&server).await;
    let mut reader = PgConnection::connect(&url_as(&stack, READS)).await.unwrap();
    let tables = "SELECT table_name::text FROM information_schema.tables
                  WHERE table_schema = 'public' AND table_type = 'BASE TABLE'";
    for table in stack.values::<String>(tables).await {
        let read = format!("SELECT count(*) FROM {table}");
        assert_eq!(refusal(&mut reader, &read).await, None);
        refused(&mut reader, &format!("DELETE FROM {table}")).await;
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
        refused(&mut reader, &format!("SELECT {column} FROM {table}")).await;
    }
    let months = "SELECT ensure_event_partitions('2031-01-01', 1)";
    refused(&mut reader, months).await;
}
