//! Cohorts of customers: every number equals the sum of the raw rows, computed by queries of this test.

use std::collections::{BTreeMap, BTreeSet};

use chrono::{Datelike, Months, NaiveDate};
use runtime::clock::Clock;
use serde_json::{Value, json};
use storage::reads::rollups;
use test_harness::{Json, Shop, Stack};

use super::Owned;

/// Figures by name, cohort, month and currency.
type Figures = BTreeMap<(&'static str, NaiveDate, NaiveDate, String), i64>;

/// Month and currency of each figure of the customers `f`, whose cohort is `f.cohort`.
const RAW: [(&str, &str); 7] = [
    (
        "customers",
        "SELECT f.cohort, date_trunc('month', s.sale_date AT TIME ZONE 'UTC')::date, '', count(DISTINCT s.customer_id)
         FROM f JOIN sale_events s ON s.customer_id = f.customer_id WHERE NOT s.is_test GROUP BY 1, 2",
    ),
    (
        "sales",
        "SELECT f.cohort, date_trunc('month', s.sale_date AT TIME ZONE 'UTC')::date, s.currency, count(*)
         FROM f JOIN sale_events s ON s.customer_id = f.customer_id WHERE NOT s.is_test GROUP BY 1, 2, 3",
    ),
    (
        "revenue",
        "SELECT f.cohort, date_trunc('month', s.sale_date AT TIME ZONE 'UTC')::date, s.currency, sum(s.amount_cents)::bigint
         FROM f JOIN sale_events s ON s.customer_id = f.customer_id WHERE NOT s.is_test GROUP BY 1, 2, 3",
    ),
    (
        "refunded",
        "SELECT f.cohort, date_trunc('month', r.refunded_at AT TIME ZONE 'UTC')::date, s.currency, sum(r.effective_cents)::bigint
         FROM f JOIN sale_events s ON s.customer_id = f.customer_id JOIN refunds r ON r.sale_id = s.id GROUP BY 1, 2, 3",
    ),
    (
        "commission",
        "SELECT f.cohort, date_trunc('month', c.created_at AT TIME ZONE 'UTC')::date, c.currency,
                sum(c.amount_cents - c.adjusted_cents)::bigint
         FROM f JOIN commissions c ON c.customer_id = f.customer_id WHERE c.sale_id IS NOT NULL GROUP BY 1, 2, 3",
    ),
    (
        "deducted",
        "SELECT f.cohort, date_trunc('month', r.refunded_at AT TIME ZONE 'UTC')::date, s.currency, sum(r.deducted_cents)::bigint
         FROM f JOIN sale_events s ON s.customer_id = f.customer_id JOIN refunds r ON r.sale_id = s.id GROUP BY 1, 2, 3",
    ),
    (
        "deducted",
        // Each commission is changed once.
        "SELECT f.cohort, date_trunc('month', l.created_at AT TIME ZONE 'UTC')::date, c.currency, sum(-c.adjusted_cents)::bigint
         FROM f JOIN commissions c ON c.customer_id = f.customer_id
         JOIN ledger_entries l ON l.commission_id = c.id AND l.kind = 'adjustment' WHERE c.sale_id IS NOT NULL GROUP BY 1, 2, 3",
    ),
];

async fn raw(stack: &Stack, owned: &Owned) -> Figures {
    let mut figures = Figures::new();
    for (figure, query) in RAW {
        let query = format!(
            "WITH f AS (SELECT customer_id, date_trunc('month', min(sale_date) AT TIME ZONE 'UTC')::date AS cohort
                        FROM sale_events WHERE program_id = $1 AND NOT is_test GROUP BY 1) {query}"
        );
        let rows: Vec<(NaiveDate, NaiveDate, String, i64)> = sqlx::query_as(sqlx::AssertSqlSafe(query))
            .bind(owned.program.program_id.get())
            .fetch_all(stack.pool())
            .await
            .unwrap();
        for (cohort, month, currency, number) in rows {
            *figures.entry((figure, cohort, month, currency)).or_default() += number;
        }
    }
    figures
}

fn months(first: NaiveDate, last: NaiveDate) -> Vec<NaiveDate> {
    let next = |month: &NaiveDate| month.checked_add_months(Months::new(1));
    std::iter::successors(Some(first), next)
        .take_while(|month| *month <= last)
        .collect()
}

fn earnings(figures: &Figures, cohort: NaiveDate, of: &[NaiveDate], currency: &str) -> Value {
    let sum = |figure| -> i64 {
        of.iter()
            .filter_map(|month| figures.get(&(figure, cohort, *month, currency.to_owned())))
            .sum()
    };
    let (sales, revenue, commission) = (sum("sales"), sum("revenue"), sum("commission"));
    // Rounded to the nearest, halves up.
    let average = if sales > 0 {
        (2 * revenue + sales) / (2 * sales)
    } else {
        0
    };
    json!({
        "revenue_cents": revenue, "refunded_cents": sum("refunded"), "net_revenue_cents": revenue - sum("refunded"),
        "commission_cents": commission, "commission_taken_back_cents": sum("deducted"),
        "net_commission_cents": commission - sum("deducted"), "average_order_cents": average,
    })
}

fn report(figures: &Figures, own: &str, currency: &str, last: NaiveDate) -> Value {
    let first = figures.keys().map(|(_, cohort, ..)| *cohort).min().unwrap();
    let others: BTreeSet<&str> = figures
        .keys()
        .map(|(.., currency)| currency.as_str())
        .filter(|its| !its.is_empty() && *its != own)
        .collect();
    let currencies: Vec<&str> = std::iter::once(own).chain(others).collect();
    let cohorts: Vec<Value> = months(first, last)
        .into_iter()
        .map(|cohort| {
            let since = months(cohort, last);
            let customers = |month| {
                let key = ("customers", cohort, month, String::new());
                figures.get(&key).copied().unwrap_or_default()
            };
            let each: Vec<Value> = since
                .iter()
                .map(|month| {
                    let mut of_month = earnings(figures, cohort, &[*month], currency);
                    of_month["customers"] = customers(*month).into();
                    let sales = ("sales", cohort, *month, currency.to_owned());
                    of_month["sales"] = figures.get(&sales).copied().unwrap_or_default().into();
                    of_month
                })
                .collect();
            json!({
                "month": cohort.format("%Y-%m").to_string(), "customers": customers(cohort),
                "total": earnings(figures, cohort, &since, currency), "months": each,
            })
        })
        .collect();
    json!({ "currency": currency, "currencies": currencies, "cohorts": cohorts })
}

pub async fn as_the_advertiser_reads_them(stack: &Stack, owned: &Owned) {
    let figures = raw(stack, owned).await;
    let last = stack.clock.now().date_naive().with_day(1).unwrap();
    let known: BTreeSet<&str> = figures.keys().map(|(.., currency)| currency.as_str()).collect();
    assert_eq!(known.len(), 3, "two currencies and none: {known:?}");
    for currency in known.into_iter().filter(|currency| !currency.is_empty()) {
        let path = owned
            .program
            .path(&format!("report/cohorts?months=12&currency={currency}"));
        let answer = stack.get(&path, &owned.owner.token).await.ok();
        let expected = report(&figures, owned.currency, currency, last);
        assert_eq!(answer.body["data"], expected, "in {currency}");
    }
}

/// A cohort begins with the first sale, in whatever order sales arrive; and invalid requests are refused.
#[tokio::test]
async fn a_first_sale_that_arrives_late_moves_its_customer_to_an_earlier_cohort() {
    let shop = Shop::open_at(Clock::manual("2026-10-31T23:00:00Z".parse().unwrap())).await;
    let cohorts = async || {
        let cohorts = shop.read("report/cohorts").await["cohorts"].clone();
        let shown = cohorts.as_array().unwrap().iter().map(|cohort| {
            let months = cohort["months"].columns(["customers", "revenue_cents"]);
            json!([cohort["month"], months])
        });
        shown.collect::<Value>()
    };
    assert_eq!(cohorts().await, json!([]));
    shop.stack.clock.set("2026-11-01T12:00:00Z".parse().unwrap());
    shop.sell("t1", json!({})).await;
    assert_eq!(cohorts().await, json!([["2026-11", [[1, 10_000]]]]));
    rollups::fold(shop.stack.pool(), 100).await.unwrap();
    shop.stack.clock.set("2026-10-31T23:30:00Z".parse().unwrap());
    shop.sell("t0", json!({ "amount_cents": 5_000 })).await;
    shop.stack.clock.set("2026-11-01T12:30:00Z".parse().unwrap());
    let moved = json!([["2026-10", [[1, 5_000], [1, 10_000]]], ["2026-11", [[0, 0]]]]);
    assert_eq!(cohorts().await, moved);
    while rollups::fold(shop.stack.pool(), 1).await.unwrap() > 0 {}
    assert_eq!(cohorts().await, moved);
    rollups::rebuild(shop.stack.pool(), shop.program.program_id)
        .await
        .unwrap();
    assert_eq!(cohorts().await, moved);
    let refusals = json!({
        "months=0": "months must be an integer from 1 to 36",
        "months=37": "months must be an integer from 1 to 36",
        "currency=dollars": "currency must be a currency code of three letters",
    });
    shop.refuses("report/cohorts", refusals).await;
    shop.stack.verify().await;
}
