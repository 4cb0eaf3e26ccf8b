//! `/livez` and `/readyz` of both services.

use reqwest::StatusCode;
use runtime::clock::Clock;
use test_harness::{Edge, Stack};
use testing::{OwnPostgres, TestDatabase};

#[tokio::test]
async fn both_services_are_live_and_ready_when_everything_they_need_answers() {
    let mut stack = Stack::without_services(Clock::system()).await;
    for service in [Edge::at(stack.start_ingest()), Edge::at(stack.start_worker())] {
        service.ready(&stack).await;
        assert_eq!(service.health("livez").await, Some(StatusCode::OK));
    }
}

#[tokio::test]
async fn both_services_stay_live_but_not_ready_while_postgres_is_down() {
    let postgres = OwnPostgres::start();
    let mut stack = Stack::on(TestDatabase::create_on(postgres.url()).await, Clock::system());
    let services = [Edge::at(stack.start_ingest()), Edge::at(stack.start_worker())];
    for service in &services {
        service.ready(&stack).await;
    }
    postgres.stop_at_once();
    for service in &services {
        let readyz = service.health("readyz").await;
        assert_eq!(readyz, Some(StatusCode::SERVICE_UNAVAILABLE));
        assert_eq!(service.health("livez").await, Some(StatusCode::OK));
    }
    postgres.start_again();
    for service in &services {
        service.ready(&stack).await;
    }
}
