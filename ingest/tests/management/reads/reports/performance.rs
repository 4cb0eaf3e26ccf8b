use chrono::{NaiveDate, TimeDelta};
use runtime::clock::Clock;
use serde_json::{Value, json};

use test_harness::{Answer, Person, Program, Stack, noon};

async fn performance(stack: &Stack, program: &Program, person: &Person, query: &str) -> Answer {
    let path = format!("/api/tracking/performance/{}?{query}", program.program_id);
    stack.get(&path, &person.token).await
}

fn day(text: &str) -> NaiveDate {
    text.parse().unwrap()
}

/// A stack at noon of 2026-03-01, whose program has no sums yet.
async fn bare() -> (Stack, Program, Person) {
    let stack = Stack::start_with(Clock::manual(noon())).await;
    let program = stack.program().await;
    let own = stack.owner_of(&program).await;
    let statement = "DELETE FROM rollup_deltas; DELETE FROM program_days";
    stack.execute(statement).await;
    (stack, program, own)
}

#[tokio::test]
async fn a_period_ends_today_and_two_dates_go_before_it() {
    let (stack, program, own) = bare().await;
    let statement = "UPDATE programs SET created_at = '2026-01-15T23:59:59.999Z'";
    stack.execute(statement).await;
    // By query: the period, the first day, the last day, the number of days.
    let cases = json!({
        "": ["all", "2026-02-23", "2026-03-01", 7],
        "period=": ["all", "2026-02-23", "2026-03-01", 7],
        "period=7d": ["7d", "2026-02-23", "2026-03-01", 7],
        "period=30d": ["30d", "2026-01-31", "2026-03-01", 30],
        "period=90d": ["90d", "2025-12-02", "2026-03-01", 90],
        "period=all": ["all", "2026-01-15", "2026-03-01", 46],
        "dateFrom=2024-02-28&dateTo=2024-03-01": ["all", "2024-02-28", "2024-03-01", 3],
        "dateFrom=2026-01-01&dateTo=2026-01-01&period=30d": ["30d", "2026-01-01", "2026-01-01", 1],
        "dateFrom=2026-01-01&dateTo=2026-01-01&period=1y": ["all", "2026-01-01", "2026-01-01", 1],
        // An instant stands for its UTC day.
        "dateFrom=2026-01-01T00:30:00%2B01:00&dateTo=2026-01-01T10:00:00Z": ["all", "2025-12-31", "2026-01-01", 2],
        "dateFrom=2030-01-01&dateTo=2030-01-02": ["all", "2030-01-01", "2030-01-02", 2],
        "dateFrom=1970-01-01&dateTo=1970-01-01": ["all", "1970-01-01", "1970-01-01", 1],
        "dateFrom=9999-12-31&dateTo=9999-12-31": ["all", "9999-12-31", "9999-12-31", 1],
        "dateFrom=2016-01-01&dateTo=2026-01-07": ["all", "2016-01-01", "2026-01-07", 3_660],
    });
    for (query, case) in cases.as_object().unwrap() {
        let [period, from, to] = [0, 1, 2].map(|place| case[place].as_str().unwrap());
        let days = case[3].as_i64().unwrap();
        let answer = performance(&stack, &program, &own, query).await.ok();
        assert_eq!(answer.body.as_object().unwrap().len(), 3);
        let shown = answer.body["data"].as_array().unwrap().len();
        assert_eq!(json!(shown), days, "{query}");
        let begins = |day: NaiveDate| format!("{day}T00:00:00.000Z");
        let ends = |day: NaiveDate| format!("{day}T23:59:59.999Z");
        let before = |date: &str, days| day(date) - TimeDelta::days(days);
        let meta = json!({
            "period": period, "dateFrom": begins(day(from)), "dateTo": ends(day(to)),
            "previousPeriod": { "dateFrom": begins(before(from, days)), "dateTo": ends(before(from, 1)) },
        });
        assert_eq!(answer.body["meta"], meta, "{query}");
    }
}

#[tokio::test]
async fn ranges_that_are_none_are_refused() {
    let (stack, program, own) = bare().await;
    let path = format!("/api/tracking/performance/{}", program.program_id);
    let date = |name: &str| format!("{name} must be an ISO 8601 date of the years 1970 to 9999");
    let (from, to) = (date("dateFrom"), date("dateTo"));
    let refusals = json!({
        "period=1y": "period must be one of 7d, 30d, 90d, all",
        "dateFrom=2026-01-01": "dateFrom and dateTo must be given together",
        "dateTo=2026-01-01&period=7d": "dateFrom and dateTo must be given together",
        "dateFrom=2026-01-02&dateTo=2026-01-01": "dateFrom must not be after dateTo",
        "dateFrom=soon&dateTo=2026-01-01": from,
        "dateFrom=2026-01-01&dateTo=2026-13-01": to,
        "dateFrom=2026-01-01&dateTo=%2B262142-12-31": to,
        "dateFrom=-262143-01-01&dateTo=2026-01-01": from,
        "dateFrom=-262143-01-01T00:00:00Z&dateTo=%2B262142-12-31T23:59:59Z": from,
        "dateFrom=0000-01-01&dateTo=2026-01-01": from,
        "dateFrom=2016-01-01&dateTo=2026-01-08": "A range has at most 3660 days",
        "dateFrom=1970-01-01&dateTo=9999-12-31": "A range has at most 3660 days",
    });
    stack.refuses(&own.token, &path, refusals).await;
}

#[tokio::test]
async fn a_day_begins_and_ends_at_midnight_utc() {
    let clock = Clock::manual("2026-02-28T23:59:59.999Z".parse().unwrap());
    let stack = Stack::start_with(clock.clone()).await;
    let program = stack.program().await;
    let own = stack.owner_of(&program).await;
    let last_days = async || {
        let answer = performance(&stack, &program, &own, "period=7d").await;
        let rows = answer.body["data"].as_array().unwrap();
        let clicks = |row: &Value| {
            (
                row["date"].as_str().unwrap().to_owned(),
                row["clicks"].as_i64().unwrap(),
            )
        };
        [clicks(&rows[5]), clicks(&rows[6])]
    };
    let days = |before: (&str, i64), last: (&str, i64)| {
        [(before.0.to_owned(), before.1), (last.0.to_owned(), last.1)]
    };
    stack.click(&program.ada.code).await;
    stack
        .eventually("the last click of the day is counted", async || {
            last_days().await == days(("2026-02-27", 0), ("2026-02-28", 1))
        })
        .await;
    clock.advance(TimeDelta::milliseconds(1));
    stack.click(&program.ada.code).await;
    stack.click(&program.ada.code).await;
    stack
        .eventually("the first clicks of the next are", async || {
            last_days().await == days(("2026-02-28", 1), ("2026-03-01", 2))
        })
        .await;
}
