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

/// Adds sums as the worker leaves them.
async fn add_day(stack: &Stack, program: &Program, table: &str, day: &str, currency: &str, values: [i64; 7]) {
    let [clicks, leads, conversions, partners, sales, revenue, commission] = values;
    stack
        .execute(&format!(
            "INSERT INTO {table} (program_id, day, currency, clicks, leads, conversions, partners, sales, revenue_cents,
                 commission_cents)
             VALUES ({}, '{day}', '{currency}', {clicks}, {leads}, {conversions}, {partners}, {sales}, {revenue},
                     {commission})",
            program.program_id
        ))
        .await;
}

/// A stack at noon of 2026-03-01, whose program has no sums yet.
async fn bare() -> (Stack, Program, Person) {
    let stack = Stack::start_with(Clock::manual(noon())).await;
    let program = stack.program().await;
    let own = stack.owner_of(&program).await;
    stack
        .execute("DELETE FROM rollup_deltas; DELETE FROM program_days")
        .await;
    (stack, program, own)
}

/// Adds two weeks, and a day on either side.
async fn add_two_weeks(stack: &Stack, program: &Program) {
    // Folded sums, unfolded sums, another currency, the day before the range, and the day before the
    // preceding range.
    for (table, day, currency, values) in [
        ("program_days", "2026-02-28", "", [3, 2, 0, 1, 0, 0, 0]),
        ("program_days", "2026-02-28", "USD", [0, 0, 1, 0, 2, 1_001, 200]),
        ("rollup_deltas", "2026-02-28", "USD", [0, 0, 1, 0, 1, 1_000, 101]),
        (
            "rollup_deltas",
            "2026-02-28",
            "EUR",
            [0, 0, 0, 0, 1, 99_999, 9_999],
        ),
        ("program_days", "2026-02-22", "", [4, 2, 3, 0, 0, 0, 0]),
        ("program_days", "2026-02-16", "USD", [0, 0, 0, 0, 3, 3_000, 0]),
        ("program_days", "2026-02-15", "USD", [9, 9, 9, 9, 9, 9_999, 9_999]),
        ("program_days", "2026-03-02", "USD", [9, 9, 9, 9, 9, 9_999, 9_999]),
    ] {
        add_day(stack, program, table, day, currency, values).await;
    }
}

#[tokio::test]
async fn days_metrics_and_trends_are_the_contracts() {
    let (stack, program, own) = bare().await;
    add_two_weeks(&stack, &program).await;
    let answer = performance(&stack, &program, &own, "").await.ok();
    let rows = answer.body["data"].as_array().unwrap();
    let dates: Vec<_> = rows.iter().map(|row| row["date"].as_str().unwrap()).collect();
    let week = [
        "2026-02-23",
        "2026-02-24",
        "2026-02-25",
        "2026-02-26",
        "2026-02-27",
        "2026-02-28",
        "2026-03-01",
    ];
    assert_eq!(dates, week);
    let row =
        |date: &str, [clicks, leads, conversions, partners]: [i64; 4], revenue: f64, commission: f64| {
            json!({
                "date": date, "period": date, "clicks": clicks, "leads": leads, "conversions": conversions,
                "revenue": revenue, "partners": partners, "sales": 0, "commission": commission,
            })
        };
    assert_eq!(rows[5], row("2026-02-28", [3, 2, 2, 1], 20.01, 3.01));
    for quiet in [0, 1, 2, 3, 4, 6] {
        assert_eq!(rows[quiet], row(week[quiet], [0; 4], 0.0, 0.0));
    }
    let trend = |trend: f64, direction: &str| json!({ "trend": trend, "trendDirection": direction });
    assert_eq!(
        answer.body["metrics"],
        json!({
            "totalClicks": 3, "totalLeads": 2, "totalConversions": 2, "totalRevenue": 20.01, "conversionRate": 66.67,
            "averageOrderValue": 10.01, "totalPartners": 1, "totalSales": 4, "totalPartnersCommission": 3.01,
            "clicksTrend": trend(25.0, "down"), "leadsTrend": trend(0.0, "stable"),
            "conversionsTrend": trend(33.3, "down"), "revenueTrend": trend(33.3, "down"),
            "partnersTrend": trend(100.0, "up"), "salesTrend": trend(33.3, "up"),
            "commissionTrend": trend(100.0, "up"),
        })
    );
    assert_eq!(
        answer.body["meta"],
        json!({
            "period": "all", "dateFrom": "2026-02-23T00:00:00.000Z", "dateTo": "2026-03-01T23:59:59.999Z",
            "previousPeriod": { "dateFrom": "2026-02-16T00:00:00.000Z", "dateTo": "2026-02-22T23:59:59.999Z" },
        })
    );
    assert_eq!(answer.body.as_object().unwrap().len(), 3);
}

#[tokio::test]
async fn a_period_ends_today_and_two_dates_go_before_it() {
    let (stack, program, own) = bare().await;
    stack
        .execute("UPDATE programs SET created_at = '2026-01-15T23:59:59.999Z'")
        .await;
    // Query, period, first day, last day, number of days.
    let cases = json!([
        ["", "all", "2026-02-23", "2026-03-01", 7],
        ["period=", "all", "2026-02-23", "2026-03-01", 7],
        ["period=7d", "7d", "2026-02-23", "2026-03-01", 7],
        ["period=30d", "30d", "2026-01-31", "2026-03-01", 30],
        ["period=90d", "90d", "2025-12-02", "2026-03-01", 90],
        ["period=all", "all", "2026-01-15", "2026-03-01", 46],
        [
            "dateFrom=2024-02-28&dateTo=2024-03-01",
            "all",
            "2024-02-28",
            "2024-03-01",
            3
        ],
        [
            "dateFrom=2026-01-01&dateTo=2026-01-01&period=30d",
            "30d",
            "2026-01-01",
            "2026-01-01",
            1
        ],
        [
            "dateFrom=2026-01-01&dateTo=2026-01-01&period=1y",
            "all",
            "2026-01-01",
            "2026-01-01",
            1
        ],
        // An instant stands for its UTC day.
        [
            "dateFrom=2026-01-01T00:30:00%2B01:00&dateTo=2026-01-01T10:00:00Z",
            "all",
            "2025-12-31",
            "2026-01-01",
            2
        ],
        [
            "dateFrom=2030-01-01&dateTo=2030-01-02",
            "all",
            "2030-01-01",
            "2030-01-02",
            2
        ],
        [
            "dateFrom=1970-01-01&dateTo=1970-01-01",
            "all",
            "1970-01-01",
            "1970-01-01",
            1
        ],
        [
            "dateFrom=9999-12-31&dateTo=9999-12-31",
            "all",
            "9999-12-31",
            "9999-12-31",
            1
        ],
        [
            "dateFrom=2016-01-01&dateTo=2026-01-07",
            "all",
            "2016-01-01",
            "2026-01-07",
            3_660
        ],
    ]);
    for case in cases.as_array().unwrap() {
        let [query, period, from, to] = [0, 1, 2, 3].map(|place| case[place].as_str().unwrap());
        let days = case[4].as_i64().unwrap();
        let answer = performance(&stack, &program, &own, query).await.ok();
        let meta = &answer.body["meta"];
        assert_eq!(meta["period"], period, "{query}");
        assert_eq!(meta["dateFrom"], format!("{from}T00:00:00.000Z"), "{query}");
        assert_eq!(meta["dateTo"], format!("{to}T23:59:59.999Z"), "{query}");
        assert_eq!(
            answer.body["data"].as_array().map(Vec::len),
            usize::try_from(days).ok(),
            "{query}"
        );
        let before = |date: &str, days| day(date) - TimeDelta::days(days);
        assert_eq!(
            meta["previousPeriod"],
            json!({
                "dateFrom": format!("{}T00:00:00.000Z", before(from, days)),
                "dateTo": format!("{}T23:59:59.999Z", before(from, 1)),
            }),
            "{query}"
        );
    }
}

#[tokio::test]
async fn ranges_that_are_none_are_refused() {
    let (stack, program, own) = bare().await;
    let path = format!("/api/tracking/performance/{}", program.program_id);
    let date = |name: &str| format!("{name} must be an ISO 8601 date of the years 1970 to 9999");
    let (from, to) = (date("dateFrom"), date("dateTo"));
    stack
        .refuses(
            &own.token,
            &path,
            json!({
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
            }),
        )
        .await;
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
