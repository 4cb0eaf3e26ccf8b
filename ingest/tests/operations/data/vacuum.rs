//! Dead rows are bounded by their number, whatever the size of a table.

use runtime::clock::Clock;
use test_harness::Stack;
use testing::{OwnPostgres, TestDatabase};

/// Sales of less than an hour at a busy installation: each leaves a dead row of its claim. More than the
/// number after which the table is vacuumed, less than PostgreSQL's default share (a fifth of all rows).
const SALES: i64 = 120_000;

#[tokio::test(flavor = "multi_thread")]
async fn a_large_table_is_vacuumed_after_as_many_changes_as_a_small_one() {
    let server = OwnPostgres::start();
    let stack = Stack::on(TestDatabase::create_on(server.url()).await, Clock::system());
    // If an ANALYZE overlapped the changes, PostgreSQL would forget how many there were.
    set(&stack, "autovacuum = off").await;
    stack
        .execute(
            "INSERT INTO transaction_claims (transaction_id, program_id, event_id, state, sale_id)
             SELECT 'kept-' || n, 1, gen_random_uuid(), 'recorded', n FROM generate_series(1, 600000) AS n",
        )
        .await;
    stack.execute("VACUUM ANALYZE transaction_claims").await;
    stack
        .execute(&format!(
            "INSERT INTO transaction_claims (transaction_id, program_id, event_id, payload)
             SELECT 'new-' || n, 1, gen_random_uuid(), repeat('x', 600) FROM generate_series(1, {SALES}) AS n"
        ))
        .await;
    stack
        .execute("UPDATE transaction_claims SET state = 'recorded', sale_id = 1, payload = NULL WHERE state = 'open'")
        .await;
    let dead = "pg_stat_user_tables WHERE relname = 'transaction_claims' AND n_dead_tup";
    stack.reaches(&format!("{dead} > 100000"), 1).await;
    // The test is about when the vacuum runs, not how fast.
    set(&stack, "autovacuum_vacuum_cost_delay = 0").await;
    set(&stack, "autovacuum_naptime = '1s'").await;
    set(&stack, "autovacuum = on").await;
    stack
        .reaches(&format!("{dead} < 100000 AND autovacuum_count > 0"), 1)
        .await;
}

async fn set(stack: &Stack, setting: &str) {
    stack.execute(&format!("ALTER SYSTEM SET {setting}")).await;
    stack.execute("SELECT pg_reload_conf()").await;
}
