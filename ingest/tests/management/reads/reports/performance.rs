use std::collections::BTreeMap;

use chrono::{DateTime, NaiveDate, TimeDelta, Utc};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use reqwest::StatusCode;
use runtime::clock::Clock;
use serde_json::{Value, json};

use super::owner;
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
    let own = owner(&stack, &program).await;
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
    let answer = performance(&stack, &program, &own, "").await;
    assert_eq!(answer.status, StatusCode::OK, "{:?}", answer.body);
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
    for (query, period, from, to, days) in [
        ("", "all", "2026-02-23", "2026-03-01", 7),
        ("period=", "all", "2026-02-23", "2026-03-01", 7),
        ("period=7d", "7d", "2026-02-23", "2026-03-01", 7),
        ("period=30d", "30d", "2026-01-31", "2026-03-01", 30),
        ("period=90d", "90d", "2025-12-02", "2026-03-01", 90),
        ("period=all", "all", "2026-01-15", "2026-03-01", 46),
        (
            "dateFrom=2024-02-28&dateTo=2024-03-01",
            "all",
            "2024-02-28",
            "2024-03-01",
            3,
        ),
        (
            "dateFrom=2026-01-01&dateTo=2026-01-01&period=30d",
            "30d",
            "2026-01-01",
            "2026-01-01",
            1,
        ),
        (
            "dateFrom=2026-01-01&dateTo=2026-01-01&period=1y",
            "all",
            "2026-01-01",
            "2026-01-01",
            1,
        ),
        // An instant stands for its UTC day.
        (
            "dateFrom=2026-01-01T00:30:00%2B01:00&dateTo=2026-01-01T10:00:00Z",
            "all",
            "2025-12-31",
            "2026-01-01",
            2,
        ),
        (
            "dateFrom=2030-01-01&dateTo=2030-01-02",
            "all",
            "2030-01-01",
            "2030-01-02",
            2,
        ),
        (
            "dateFrom=1970-01-01&dateTo=1970-01-01",
            "all",
            "1970-01-01",
            "1970-01-01",
            1,
        ),
        (
            "dateFrom=9999-12-31&dateTo=9999-12-31",
            "all",
            "9999-12-31",
            "9999-12-31",
            1,
        ),
        (
            "dateFrom=2016-01-01&dateTo=2026-01-07",
            "all",
            "2016-01-01",
            "2026-01-07",
            3_660,
        ),
    ] {
        let answer = performance(&stack, &program, &own, query).await;
        assert_eq!(answer.status, StatusCode::OK, "{query}: {:?}", answer.body);
        let meta = &answer.body["meta"];
        assert_eq!(meta["period"], period, "{query}");
        assert_eq!(meta["dateFrom"], format!("{from}T00:00:00.000Z"), "{query}");
        assert_eq!(meta["dateTo"], format!("{to}T23:59:59.999Z"), "{query}");
        assert_eq!(answer.body["data"].as_array().unwrap().len(), days, "{query}");
        let before = |date: &str, days: usize| day(date) - TimeDelta::days(i64::try_from(days).unwrap());
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
    let date = "must be an ISO 8601 date of the years 1970 to 9999";
    let together = "dateFrom and dateTo must be given together".to_owned();
    let long = "A range has at most 3660 days".to_owned();
    for (query, message) in [
        ("period=1y", "period must be one of 7d, 30d, 90d, all".to_owned()),
        ("dateFrom=2026-01-01", together.clone()),
        ("dateTo=2026-01-01&period=7d", together),
        (
            "dateFrom=2026-01-02&dateTo=2026-01-01",
            "dateFrom must not be after dateTo".to_owned(),
        ),
        ("dateFrom=soon&dateTo=2026-01-01", format!("dateFrom {date}")),
        ("dateFrom=2026-01-01&dateTo=2026-13-01", format!("dateTo {date}")),
        (
            "dateFrom=2026-01-01&dateTo=%2B262142-12-31",
            format!("dateTo {date}"),
        ),
        (
            "dateFrom=-262143-01-01&dateTo=2026-01-01",
            format!("dateFrom {date}"),
        ),
        (
            "dateFrom=-262143-01-01T00:00:00Z&dateTo=%2B262142-12-31T23:59:59Z",
            format!("dateFrom {date}"),
        ),
        (
            "dateFrom=0000-01-01&dateTo=2026-01-01",
            format!("dateFrom {date}"),
        ),
        ("dateFrom=2016-01-01&dateTo=2026-01-08", long.clone()),
        ("dateFrom=1970-01-01&dateTo=9999-12-31", long),
    ] {
        performance(&stack, &program, &own, query)
            .await
            .refused(400, &message);
    }
}

#[tokio::test]
async fn a_day_begins_and_ends_at_midnight_utc() {
    let clock = Clock::manual("2026-02-28T23:59:59.999Z".parse().unwrap());
    let stack = Stack::start_with(clock.clone()).await;
    let program = stack.program().await;
    let own = owner(&stack, &program).await;
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

/// The program's figures from the raw rows, with the contract's names.
async fn counted(stack: &Stack, program: &Program) -> BTreeMap<NaiveDate, [i64; 7]> {
    let queries = [
        "SELECT (click_timestamp AT TIME ZONE 'UTC')::date, count(*) FROM click_events
         WHERE program_id = $1 AND NOT is_test GROUP BY 1",
        "SELECT (signup_date AT TIME ZONE 'UTC')::date, count(*) FROM customers
         WHERE program_id = $1 AND signup_date IS NOT NULL AND status IN ('lead', 'conversion') GROUP BY 1",
        "SELECT (first_purchase_date AT TIME ZONE 'UTC')::date, count(*) FROM customers
         WHERE program_id = $1 AND first_purchase_date IS NOT NULL AND status = 'conversion' GROUP BY 1",
        "SELECT (created_at AT TIME ZONE 'UTC')::date, count(*) FROM partner_programs WHERE program_id = $1 GROUP BY 1",
        "SELECT (sale_date AT TIME ZONE 'UTC')::date, count(*) FROM sale_events
         WHERE program_id = $1 AND NOT is_test AND payment_status = 'paid' GROUP BY 1",
        "SELECT (sale_date AT TIME ZONE 'UTC')::date, sum(amount_cents)::bigint FROM sale_events
         WHERE program_id = $1 AND NOT is_test AND payment_status = 'paid' AND currency = 'USD' GROUP BY 1",
        "SELECT (created_at AT TIME ZONE 'UTC')::date, sum(amount_cents)::bigint FROM commissions
         WHERE program_id = $1 AND NOT is_test AND currency = 'USD' GROUP BY 1",
    ];
    let mut days: BTreeMap<NaiveDate, [i64; 7]> = BTreeMap::new();
    for (field, query) in queries.into_iter().enumerate() {
        let rows: Vec<(NaiveDate, i64)> = sqlx::query_as(query)
            .bind(program.program_id.get())
            .fetch_all(stack.pool())
            .await
            .unwrap();
        for (day, number) in rows {
            days.entry(day).or_default()[field] = number;
        }
    }
    days
}

/// Rounds to `decimals` decimals, halves away from zero, by long division.
pub(super) fn rounded(numerator: i64, denominator: i64, decimals: u32) -> f64 {
    if denominator == 0 {
        return 0.0;
    }
    let scaled = i128::from(numerator) * 10_i128.pow(decimals);
    let (whole, rest) = (scaled / i128::from(denominator), scaled % i128::from(denominator));
    let digits = if rest * 2 >= i128::from(denominator) {
        whole + 1
    } else {
        whole
    };
    format!("{digits}e-{decimals}").parse().unwrap()
}

pub(super) fn trend(previous: i64, current: i64) -> Value {
    let percent = match (previous, current) {
        (0, 0) => 0.0,
        (0, _) => 100.0,
        _ => rounded((current - previous).abs() * 100, previous, 1),
    };
    let direction = match current - previous {
        0 => "stable",
        change if change > 0 => "up",
        _ => "down",
    };
    json!({ "trend": percent, "trendDirection": direction })
}

fn expected(days: &BTreeMap<NaiveDate, [i64; 7]>, first: NaiveDate, last: NaiveDate) -> (Value, Value) {
    let length = (last - first).num_days() + 1;
    let of = |day: NaiveDate| days.get(&day).copied().unwrap_or_default();
    let sum = |from: NaiveDate, field: usize| -> i64 {
        from.iter_days()
            .take(usize::try_from(length).unwrap())
            .map(|day| of(day)[field])
            .sum()
    };
    let now = |field| sum(first, field);
    let before = |field| sum(first - TimeDelta::days(length), field);
    let rows = first.iter_days().take_while(|day| *day <= last).map(|day| {
        let [clicks, leads, conversions, partners, _, revenue, commission] = of(day);
        json!({
            "date": day.to_string(), "period": day.to_string(), "clicks": clicks, "leads": leads,
            "conversions": conversions, "partners": partners, "sales": 0, "revenue": rounded(revenue, 100, 2),
            "commission": rounded(commission, 100, 2),
        })
    });
    let metrics = json!({
        "totalClicks": now(0), "totalLeads": now(1), "totalConversions": now(2), "totalPartners": now(3),
        "totalSales": now(4), "totalRevenue": rounded(now(5), 100, 2),
        "totalPartnersCommission": rounded(now(6), 100, 2),
        "conversionRate": rounded(now(2) * 100, now(0), 2),
        "averageOrderValue": rounded(now(5), now(2) * 100, 2),
        "clicksTrend": trend(before(0), now(0)), "leadsTrend": trend(before(1), now(1)),
        "conversionsTrend": trend(before(2), now(2)), "partnersTrend": trend(before(3), now(3)),
        "salesTrend": trend(before(4), now(4)), "revenueTrend": trend(before(5), now(5)),
        "commissionTrend": trend(before(6), now(6)),
    });
    (rows.collect(), metrics)
}

/// A funnel of many days: clicks at any time of the day, leads and sales some time after.
async fn random_funnel(stack: &Stack, program: &Program, clock: &Clock, random: &mut StdRng) {
    let from: DateTime<Utc> = "2025-11-20T00:00:00Z".parse().unwrap();
    let until = noon();
    let mut at = from;
    let mut known: Vec<(String, String)> = Vec::new();
    let mut sales = 0;
    while at < until {
        clock.set(at);
        let code = [&program.ada.code, &program.bruno.code][random.random_range(0..2)];
        let customer = known.get(random.random_range(0..=known.len())).cloned();
        match random.random_range(0..10) {
            0..=3 => {
                let click_id = stack.click(code).await;
                known.push((click_id, format!("{}-{}", program.program_id, known.len())));
            }
            4 => {
                let existing = customer.map(|(click_id, _)| click_id);
                stack
                    .click_with(code, json!({ "existing_click_id": existing }))
                    .await;
            }
            5 | 6 => {
                if let Some((click_id, key)) = customer {
                    stack.lead(program, &click_id, &key).await;
                }
            }
            7 | 8 => {
                if let Some((click_id, _)) = customer {
                    sales += 1;
                    let currency = ["USD", "USD", "EUR"][random.random_range(0..3)];
                    let sale = json!({
                        "transaction_id": format!("{}-{sales}", program.program_id), "click_id": click_id,
                        "amount_cents": random.random_range(1..50_000), "currency": currency,
                    });
                    stack.sale(program, sale).await;
                }
            }
            _ => {
                let test = json!({ "additional_data": { "test_mode": true } });
                stack.click_with(code, test).await;
            }
        }
        at += TimeDelta::milliseconds(random.random_range(1..60 * 60 * 24 * 1_000));
    }
    clock.set(until);
}

#[tokio::test]
async fn every_field_is_what_the_raw_rows_come_to() {
    let clock = Clock::manual("2025-11-20T00:00:00Z".parse().unwrap());
    let stack = Stack::start_with(clock.clone()).await;
    let mut random = StdRng::seed_from_u64(7);
    for _ in 0..2 {
        clock.set("2025-11-20T00:00:00Z".parse().unwrap());
        let program = stack.program().await;
        random_funnel(&stack, &program, &clock, &mut random).await;
        // Earlier sessions have expired by now.
        let own = owner(&stack, &program).await;
        for _ in 0..12 {
            let first = day("2025-11-20") + TimeDelta::days(random.random_range(0..100));
            let last = first + TimeDelta::days(random.random_range(0..60));
            let query = format!("dateFrom={first}&dateTo={last}");
            stack
                .eventually("the sums are those of the rows", async || {
                    let (rows, metrics) = expected(&counted(&stack, &program).await, first, last);
                    let answer = performance(&stack, &program, &own, &query).await;
                    answer.body["data"] == rows && answer.body["metrics"] == metrics
                })
                .await;
        }
    }
}
