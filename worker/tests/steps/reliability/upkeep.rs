//! A round of upkeep handles everything that is due, and no click waits for it.

use chrono::{DateTime, NaiveDate, Utc};
use runtime::clock::Clock;
use storage::operations::partitions;
use test_harness::{Stack, rows};

#[tokio::test]
async fn a_round_of_upkeep_goes_on_until_nothing_is_due() {
    let mut stack = Stack::without_services(Clock::system()).await;
    // More rows than two statements handle; the next round starts a minute later.
    let statement = "INSERT INTO refused_events (event_id, outcome, refused_at)
             SELECT gen_random_uuid(), '{}', now() - interval '9 days' FROM generate_series(1, 25000)";
    stack.execute(statement).await;
    stack.start_worker();
    stack.reaches("refused_events", 0).await;
}

#[tokio::test]
async fn clicks_go_on_while_a_months_partition_waits_for_a_reader() {
    let (stack, program) = Stack::with_program().await;
    let month = NaiveDate::from_ymd_opt(2031, 1, 1).unwrap();
    let reader = stack.holding("SELECT count(*) FROM click_events").await;
    let made = async { while partitions::ensure(stack.pool(), month, 1).await.is_err() {} };
    let clicked = async {
        stack.locked_out("the partition waits", 1).await;
        stack.click(&program.ada.code).await;
        rows::counted(&stack, program.ada.link, 1).await;
        reader.rollback().await.unwrap();
    };
    tokio::join!(made, clicked);
    stack.verify().await;
}

fn noon(month: u32, day: u32) -> DateTime<Utc> {
    date(2026, month, day).and_hms_opt(12, 0, 0).unwrap().and_utc()
}

fn date(year: i32, month: u32, day: u32) -> NaiveDate {
    NaiveDate::from_ymd_opt(year, month, day).unwrap()
}

/// The partitions of clicks for these days, without the table's name.
async fn partitions_of_clicks(stack: &Stack, first: NaiveDate, last: NaiveDate) -> Vec<String> {
    stack
        .values(&format!(
            "SELECT substring(name FROM '_y(.*)$') FROM event_partitions
             WHERE parent = 'click_events' AND first_day BETWEEN '{first}' AND '{last}' ORDER BY first_day"
        ))
        .await
}

/// Waits until this partition exists. `last` does not include the table's name.
async fn made_ahead(stack: &Stack, last: &str) {
    stack
        .reaches(&format!("event_partitions WHERE name = 'lead_events_y{last}'"), 1)
        .await;
}

#[tokio::test]
async fn events_are_kept_and_dropped_by_days() {
    let mut stack = Stack::start_with(Clock::manual(noon(3, 30))).await;
    let program = stack.program().await;
    stack.click(&program.ada.code).await;
    rows::counted(&stack, program.ada.link, 1).await;
    made_ahead(&stack, "2026m05").await;

    stack.stop_workers().await;
    stack.set("EVENT_RETENTION_DAYS", "8");
    stack.start_worker();
    made_ahead(&stack, "2026m04d13").await;
    let partitions = partitions_of_clicks(&stack, date(2026, 3, 1), date(2026, 4, 2)).await;
    assert_eq!(
        partitions,
        ["2026m03", "2026m04d01", "2026m04d02"],
        "a month without events gives way"
    );

    for (at, clicks) in [(noon(4, 2), 2), (noon(4, 3), 3)] {
        stack.clock.set(at);
        stack.click(&program.ada.code).await;
        rows::counted(&stack, program.ada.link, clicks).await;
    }
    stack.stop_workers().await;
    stack.clock.set(noon(4, 11));
    stack.start_worker();
    stack.reaches("click_events", 1).await;
    let partitions = partitions_of_clicks(&stack, date(2026, 3, 1), date(2026, 4, 4)).await;
    assert_eq!(partitions, ["2026m04d03", "2026m04d04"]);
    rows::counted(&stack, program.ada.link, 3).await;
    stack.verify().await;
}

/// Starts a worker at another time, and waits until it has checked all customers.
async fn upkeep_at(stack: &mut Stack, at: DateTime<Utc>) {
    stack.stop_workers().await;
    stack.clock.set(at);
    stack.start_worker();
    let next_round = at + chrono::TimeDelta::days(1);
    stack
        .eventually("all customers were looked at", async || {
            let due: DateTime<Utc> = stack.value("SELECT next_round_at FROM visitor_retention").await;
            due == next_round
        })
        .await;
}

#[tokio::test]
async fn visitors_are_dropped_with_their_events_once_their_windows_have_passed() {
    // Partitions for the days of April replace the April partition that was made ahead.
    let mut stack = Stack::without_services(Clock::manual(noon(3, 30))).await;
    stack.set("EVENT_RETENTION_DAYS", "8");
    stack.start_services().await;
    made_ahead(&stack, "2026m04d13").await;
    stack.clock.set(noon(4, 1));
    let program = stack.program().await;
    let visitor = stack.click(&program.ada.code).await;
    let returning = stack.click(&program.ada.code).await;
    stack.customer(&program, &program.ada.code, "user-1").await;
    rows::counted(&stack, program.ada.link, 3).await;
    stack.clock.set(noon(4, 10));
    stack.returns(&program.bruno, &returning, 1).await;

    upkeep_at(&mut stack, noon(4, 12)).await;
    assert_eq!(stack.count("click_events").await, 1);
    assert_eq!(stack.count("customers").await, 3, "their windows are open");
    let windows = "attribution_window_days = 5, cookie_window_days = 10";
    rows::set(&stack, &program, windows).await;
    upkeep_at(&mut stack, noon(4, 14)).await;
    let dropped = format!("customers WHERE click_id = '{visitor}'");
    assert_eq!(stack.count(&dropped).await, 0);
    assert_eq!(stack.count("customers").await, 2);
    stack.verify().await;

    // The contract prescribes this for any click_id that is not a customer's.
    let answer = stack
        .click_with(
            &program.ada.code,
            serde_json::json!({ "existing_click_id": visitor }),
        )
        .await;
    assert_ne!(answer.body["click_id"], visitor.as_str());
    rows::counted(&stack, program.ada.link, 4).await;
    stack.verify().await;
}

#[tokio::test]
async fn visitors_stay_as_long_as_the_month_of_their_clicks() {
    let mut stack = Stack::start_with(Clock::manual(noon(3, 10))).await;
    let program = stack.program().await;
    rows::set(
        &stack,
        &program,
        "attribution_window_days = 5, cookie_window_days = 5",
    )
    .await;
    stack.click(&program.ada.code).await;
    rows::counted(&stack, program.ada.link, 1).await;
    // From now on, retention is in days. The existing month's partition is dropped as a whole, in April.
    stack.stop_workers().await;
    stack.set("EVENT_RETENTION_DAYS", "8");
    stack.start_worker();
    upkeep_at(&mut stack, noon(4, 5)).await;
    assert_eq!(stack.count("click_events").await, 1);
    stack.verify().await;
    upkeep_at(&mut stack, noon(4, 12)).await;
    assert_eq!(stack.count("click_events").await, 0);
    assert_eq!(stack.count("customers").await, 0);
    stack.verify().await;
}

#[tokio::test]
async fn a_month_that_has_days_is_filled_up_with_days() {
    let stack = Stack::without_services(Clock::system()).await;
    partitions::ensure_days(stack.pool(), date(2031, 5, 30), 3)
        .await
        .unwrap();
    partitions::ensure(stack.pool(), date(2031, 5, 1), 3)
        .await
        .unwrap();
    let partitions = partitions_of_clicks(&stack, date(2031, 5, 1), date(2031, 7, 31)).await;
    assert_eq!(partitions.len(), 31 + 30 + 1);
    assert_eq!(partitions.last().unwrap(), "2031m07");
    let repeated = partitions::ensure_days(stack.pool(), date(2031, 5, 30), 40).await;
    repeated.unwrap();
}

#[tokio::test]
async fn what_was_summed_is_dropped_once_no_reader_is_in_the_way() {
    let stack = Stack::without_services(Clock::system()).await;
    partitions::ensure_days(stack.pool(), date(2026, 1, 1), 1)
        .await
        .unwrap();
    let reader = stack.holding("SELECT count(*) FROM lead_events").await;
    partitions::retire(stack.pool(), date(2026, 2, 1)).await.unwrap();
    let dropped = partitions::retire(stack.pool(), date(2026, 2, 1));
    let released = async {
        stack
            .eventually("an attempt has given up", async || {
                stack.sessions("wait_event = 'PgSleep'").await > 0
            })
            .await;
        reader.rollback().await.unwrap();
    };
    let (dropped, ()) = tokio::join!(dropped, released);
    assert_eq!(dropped.unwrap().as_deref(), Some("lead_events_y2026m01d01"));
}
