use runtime::clock::Clock;
use test_harness::Stack;
use testing::{TestDatabase, free_address};

#[tokio::test]
async fn reports_are_read_from_the_replica_and_rights_are_not() {
    // Two different databases show which one was read.
    let replica = TestDatabase::create().await;
    let mut stack = Stack::without_services(Clock::system()).await;
    stack.set("REPLICA_DATABASE_URL", &replica.url);
    stack.start_services().await;
    let program = stack.program().await;
    let own = stack.owner_of(&program).await;
    let id = program.program_id;
    let day = "INSERT INTO program_days VALUES";
    let statement = format!("{day} ({id}, '2026-01-01', '', 1, 0, 0, 0, 0, 0, 0)");
    stack.execute(&statement).await;
    sqlx::raw_sql(sqlx::AssertSqlSafe(format!(
        "{day} ({id}, '2026-01-01', '', 2, 0, 0, 0, 0, 0, 0)"
    )))
    .execute(&replica.pool)
    .await
    .unwrap();
    let path = format!("/api/tracking/performance/{id}?dateFrom=2026-01-01&dateTo=2026-01-01");
    let answer = stack.get(&path, &own.token).await;
    assert_eq!(answer.body["metrics"]["totalClicks"], 2, "{:?}", answer.body);
}

#[tokio::test]
async fn without_its_replica_the_database_itself_is_read() {
    let mut stack = Stack::without_services(Clock::system()).await;
    let nobody = format!("postgres://nobody@{}/nothing", free_address());
    stack.set("REPLICA_DATABASE_URL", &nobody);
    stack.start_services().await;
    let program = stack.program().await;
    let own = stack.owner_of(&program).await;
    for report in ["performance", "status", "events"] {
        stack
            .get(
                &format!("/api/tracking/{report}/{}", program.program_id),
                &own.token,
            )
            .await
            .ok();
    }
}
