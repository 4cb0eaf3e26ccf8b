//! Every number of the reports equals the sum of the raw rows. The data: programs in three currencies and an
//! archived one, with clicks that do not count, tests, partial and full refunds, changes by hand and sales in
//! a second currency. Queries of this test compute the sums.

mod cohorts;
mod expected;
mod partners;

use std::collections::BTreeMap;

use chrono::{DateTime, NaiveDate, TimeDelta, Utc};
use domain::earnings::commission::CommissionType;
use domain::tracking::attribution::AttributionModel;
use runtime::clock::Clock;
use serde_json::{Value, json};

use self::expected::{Cut, Figures, performance, raw, report};
use test_harness::{BOT, Json, Person, Program, Stack, Streams, percentage, rows, sale_of, test_mode};

const PHONE: &str = "Mozilla/5.0 (iPhone; CPU iPhone OS 18_1 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.1 \
                     Mobile/15E148 Safari/604.1";
const DESKTOP: &str = "Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0";
const SUMMARY: &str = "/api/advertiser/dashboard/summary";
/// The currency of each program, and another currency.
const PROGRAMS: [(&str, &str); 4] = [("USD", "EUR"), ("JPY", "USD"), ("KWD", "USD"), ("USD", "JPY")];
const ARCHIVED: usize = 3;
/// How each program begins.
const OPENED: &str = "UPDATE programs SET exclude_bots = true, attribution_window_days = 365 WHERE id = $1";

/// The events of a program in the 45 days before now.
struct Past<'a> {
    stack: &'a Stack,
    program: &'a Program,
    currency: &'a str,
    other: &'a str,
    now: DateTime<Utc>,
}

impl Past<'_> {
    fn ago(&self, days: i64) {
        self.stack.clock.set(self.now - TimeDelta::days(days));
    }

    fn id(&self, number: u32) -> String {
        format!("{}-{number}", self.program.program_id)
    }

    async fn sell(&self, number: u32, customer: &str, amount_cents: i64, currency: &str) {
        let more = json!({ "amount_cents": amount_cents, "currency": currency });
        let sale = sale_of(&self.id(number), customer).with(more);
        self.stack.sold(self.program, sale).await;
    }

    async fn refund(&self, number: u32, cents: Option<i64>) {
        let refund = json!({ "transaction_id": self.id(number), "refund_amount_cents": cents });
        self.stack.refunded(self.program, refund).await;
    }

    /// Clicks that do not count.
    async fn odd_clicks(&self) {
        let test = test_mode();
        for more in [json!({ "user_agent": BOT }), test] {
            self.stack.click_with(&self.program.ada.code, more).await.ok();
        }
    }

    async fn happens(&self) {
        let (stack, program, own) = (self.stack, self.program, self.currency);
        self.ago(45);
        let first = stack
            .customer(program, &program.ada.code, &self.customer("a"))
            .await;
        self.odd_clicks().await;
        self.ago(40);
        self.sell(1, &self.customer("a"), 10_000, own).await;
        self.ago(25);
        stack
            .customer(program, &program.bruno.code, &self.customer("b"))
            .await;
        for (referrer, agent) in [
            ("https://www.News.example/today", PHONE),
            ("http://news.example:8080/?q=1", DESKTOP),
            ("https://blog.example/", DESKTOP),
        ] {
            let visit = json!({ "referrer_url": referrer, "user_agent": agent });
            stack.click_with(&program.ada.code, visit).await;
        }
        let returning = json!({ "existing_click_id": first });
        stack.click_with(&program.bruno.code, returning).await;
        self.odd_clicks().await;
        // The clicks are stored before the sales.
        Streams::of(stack).await.drained(stack).await;
        self.ago(20);
        self.sell(2, &self.customer("b"), 7_001, own).await;
        self.sell(3, &self.customer("a"), 5_555, self.other).await;
        self.ago(19);
        self.sell(4, &self.customer("b"), 9_999, own).await;
        let test = json!({ "transaction_id": self.id(99), "amount_cents": 7_000 });
        stack.sold(program, test.with(test_mode())).await;
        self.ago(15);
        self.refund(2, Some(1_001)).await;
        self.refund(1, None).await;
        self.ago(10);
        self.refund(3, Some(555)).await;
        self.refund(4, None).await;
        self.refund(4, None).await;
        self.ago(8);
        for number in [5, 6, 7] {
            self.sell(number, &self.customer("a"), 3_000 + i64::from(number), own)
                .await;
        }
        self.ago(0);
    }

    fn customer(&self, name: &str) -> String {
        format!("{name}-{}", self.program.program_id)
    }

    /// Changes of today, the day that the ledger records.
    async fn changes_by_hand(&self, owner: &Person) {
        let id = async |number| {
            rows::commission(self.stack, &self.id(number)).await["id"]
                .as_i64()
                .unwrap()
        };
        let path = |rest: &str| self.program.path(&format!("commissions/{rest}"));
        let reject = json!({ "commission_ids": [id(5).await], "reason": "own purchase" });
        owner.submit(&path("reject"), reject).await.ok();
        for (number, cents) in [(6, 100), (7, -50)] {
            let adjust = json!({ "amount_cents": cents, "reason": "agreed" });
            let path = path(&format!("{}/adjust", id(number).await));
            owner.submit(&path, adjust).await.ok();
        }
    }
}

struct Owned {
    program: Program,
    currency: &'static str,
    owner: Person,
}

async fn market(stack: &Stack, now: DateTime<Utc>) -> Vec<Owned> {
    let mut market = Vec::new();
    for (currency, other) in PROGRAMS {
        stack.clock.set(now - TimeDelta::days(45));
        let (model, kind) = (AttributionModel::LastClick, CommissionType::CpsLifetime);
        let program = stack
            .program_founded(model, kind, percentage(2_000), &[OPENED])
            .await;
        rows::set(stack, &program, &format!("currency = '{currency}'")).await;
        let past = Past {
            stack,
            program: &program,
            currency,
            other,
            now,
        };
        past.happens().await;
        // Earlier sessions have expired by now.
        let owner = stack.owner_of(&program).await;
        past.changes_by_hand(&owner).await;
        market.push(Owned {
            program,
            currency,
            owner,
        });
    }
    rows::set(
        stack,
        &market[ARCHIVED].program,
        "status = 'archived', archived_at = now()",
    )
    .await;
    Streams::of(stack).await.drained(stack).await;
    market
}

async fn breakdown(stack: &Stack, owned: &Owned, query: &str) -> Value {
    let path = owned.program.path(&format!("report/breakdown?{query}"));
    let answer = stack.get(&path, &owned.owner.token).await.ok();
    answer.body
}

/// Each partner has one link, so both breakdowns have the same figures.
async fn breakdowns(stack: &Stack, owned: &Owned, cut: &Cut<'_>, figures: &Figures) {
    let program = &owned.program;
    let range = format!("dateFrom={}&dateTo={}", cut.first, cut.last);
    let mut expected: Vec<Value> = Vec::new();
    for (partner, name) in [(&program.ada, "ada"), (&program.bruno, "bruno")] {
        let link = partner.link.get();
        let of_link = Cut {
            link: Some(link),
            ..*cut
        };
        let mut row = of_link.all(figures);
        row.as_object_mut().unwrap().remove("partners");
        for (by, id, name) in [
            ("partner", partner.membership.get(), name),
            ("link", link, partner.code.as_str()),
        ] {
            let mut row = row.clone();
            row["id"] = id.into();
            row["name"] = name.into();
            row["by"] = by.into();
            expected.push(row);
        }
    }
    for by in ["partner", "link"] {
        let counts = ["clicks", "leads", "conversions", "sales"].map(|name| (name, name.to_owned()));
        let amounts = [
            "revenue",
            "refunded",
            "net_revenue",
            "commission",
            "net_commission",
        ];
        let amounts = amounts.map(|name| (name, format!("{name}_cents")));
        for (sort, field) in counts.into_iter().chain(amounts) {
            let mut rows: Vec<Value> = expected.iter().filter(|row| row["by"] == by).cloned().collect();
            for row in &mut rows {
                row.as_object_mut().unwrap().remove("by");
            }
            let place = |row: &Value| (row[&field].as_i64().unwrap(), row["id"].as_i64().unwrap());
            rows.sort_by_key(|row| std::cmp::Reverse(place(row)));
            let page = breakdown(stack, owned, &format!("by={by}&sort={sort}&{range}")).await;
            assert_eq!(page["data"], json!(rows), "{by} by {sort}");
            assert_eq!(page["meta"]["pagination"]["total"], 2, "{by} by {sort}");
            let second = format!("by={by}&sort={sort}&pageSize=1&page=2&{range}");
            assert_eq!(breakdown(stack, owned, &second).await["data"], json!([rows[1]]));
        }
    }
    let beyond = breakdown(stack, owned, &format!("by=link&page=7&{range}")).await;
    assert_eq!(
        (&beyond["data"], &beyond["meta"]["pagination"]["total"]),
        (&json!([]), &json!(2))
    );
}

/// Breakdowns by each of three columns, whose empty values are unknown.
async fn origins(stack: &Stack, owned: &Owned, cut: &Cut<'_>) {
    for (by, column) in [
        ("country", "geo_country"),
        ("device", "device_type"),
        (
            "referrer",
            "lower(substring(referrer_url FROM '^https?://(?:[Ww]{3}[.])?([^/:?#]+)'))",
        ),
    ] {
        let query = format!(
            "SELECT {column} AS name, count(*) FROM click_events
             WHERE program_id = $1 AND counted AND NOT is_test AND (click_timestamp AT TIME ZONE 'UTC')::date BETWEEN $2 AND $3
             GROUP BY 1 ORDER BY 2 DESC, 1 NULLS FIRST"
        );
        let rows: Vec<(Option<String>, i64)> = sqlx::query_as(sqlx::AssertSqlSafe(query))
            .bind(owned.program.program_id.get())
            .bind(cut.first)
            .bind(cut.last)
            .fetch_all(stack.pool())
            .await
            .unwrap();
        let range = format!("dateFrom={}&dateTo={}", cut.first, cut.last);
        let page = breakdown(stack, owned, &format!("by={by}&{range}")).await;
        assert_eq!(page["data"].columns(["name", "clicks"]), json!(rows), "by {by}");
        assert!(by == "country" || rows.len() > 1, "{rows:?}");
    }
}

/// A program's commissions by currency: pending, and payable now. Nothing was paid out.
const OWED: &str = "
    SELECT currency, coalesce(sum(amount_cents - deducted_cents) FILTER (WHERE NOT payable), 0)::bigint,
           coalesce(sum(amount_cents - deducted_cents) FILTER (WHERE payable), 0)::bigint
    FROM (SELECT *, status = 'approved' OR status = 'refunded' AND (approved_at IS NOT NULL OR hold_until <= $2) AS payable
          FROM commissions WHERE program_id = $1 AND status IN ('pending', 'approved', 'refunded')) c
    GROUP BY 1";

async fn summary(stack: &Stack, owned: &Owned, cut: &Cut<'_>, now: DateTime<Utc>) -> Value {
    let figures = raw(stack, &owned.program).await;
    let unpaid: Vec<(String, i64, i64)> = sqlx::query_as(OWED)
        .bind(owned.program.program_id.get())
        .bind(now)
        .fetch_all(stack.pool())
        .await
        .unwrap();
    let mut currencies: BTreeMap<&str, (i64, i64)> = unpaid
        .iter()
        .map(|(currency, pending, approved)| (currency.as_str(), (*pending, *approved)))
        .collect();
    for (figure, day, currency, _) in figures.keys() {
        if matches!(*figure, "revenue" | "refunded") && (cut.first..=cut.last).contains(day) {
            currencies.entry(currency).or_default();
        }
    }
    let money: Vec<Value> = currencies
        .into_iter()
        .map(|(currency, (pending, approved))| {
            let sum = |wanted| cut.sum(&figures, wanted, Some(currency));
            json!({
                "currency": currency, "revenue_last_30_days_cents": sum("revenue"), "refunded_last_30_days_cents": sum("refunded"),
                "net_revenue_last_30_days_cents": sum("revenue") - sum("refunded"),
                "commissions_pending_cents": pending, "commissions_approved_cents": approved, "commissions_paid_cents": 0,
            })
        })
        .collect();
    let ever = Cut {
        first: NaiveDate::MIN,
        ..*cut
    };
    json!({
        "clicks_all_time": ever.count(&figures, "clicks"), "clicks_last_30_days": cut.count(&figures, "clicks"),
        "leads_last_30_days": cut.count(&figures, "leads"), "sales_last_30_days": cut.count(&figures, "sales"),
        "active_partners": 2, "unread_notifications": 0, "money": money,
    })
}

#[tokio::test]
async fn every_number_of_every_report_is_what_the_raw_rows_come_to() {
    // The database's clock determines the day of changes by hand.
    let now = Clock::system().now();
    let stack = Stack::start_with(Clock::manual(now - TimeDelta::days(45))).await;
    let market = market(&stack, now).await;
    for (number, owned) in market.iter().enumerate() {
        let (program, token) = (&owned.program, &owned.owner.token);
        let figures = raw(&stack, program).await;
        // One day more than needed: midnight may be near.
        let last = now.date_naive() + TimeDelta::days(1);
        let cut = Cut {
            first: last - TimeDelta::days(29),
            last,
            currency: owned.currency,
            link: None,
        };
        let taken_back = cut.cents(&figures, "deducted") + cut.cents(&figures, "changed");
        let refunded = cut.cents(&figures, "refunded");
        assert!(taken_back > 0 && refunded > 0, "{figures:?}");
        for (first, last) in [(29, 0), (59, 0), (20, 11), (16, 16)] {
            let before = |days| cut.last - TimeDelta::days(days);
            let cut = Cut {
                first: before(first),
                last: before(last),
                ..cut
            };
            let range = format!("dateFrom={}&dateTo={}", cut.first, cut.last);
            let answer = stack.get(&program.path(&format!("report?{range}")), token).await;
            let expected = report(&cut, &figures);
            assert_eq!(*answer.data(), expected, "program {number}, {range}");
            let path = format!("/api/tracking/performance/{}?{range}", program.program_id);
            let answer = stack.get(&path, token).await.body;
            let shown = (answer["data"].clone(), answer["metrics"].clone());
            assert_eq!(shown, performance(&cut, &figures), "{range}");
        }
        breakdowns(&stack, owned, &cut, &figures).await;
        partners::as_the_advertiser_reads_them(&stack, owned, &cut, &figures).await;
        origins(&stack, owned, &cut).await;
        cohorts::as_the_advertiser_reads_them(&stack, owned).await;
        stack
            .eventually("the summary is that of the rows", async || {
                let today = stack.clock.now().date_naive();
                let month = Cut {
                    first: today - TimeDelta::days(29),
                    last: today,
                    ..cut
                };
                let expected = summary(&stack, owned, &month, stack.clock.now()).await;
                let answer = stack.get(SUMMARY, token).await.body["data"].clone();
                if number == ARCHIVED {
                    return answer["programs"] == json!([]);
                }
                let total = answer["total"] == expected;
                let named = json!({ "program_id": program.program_id, "name": "Program", "status": "live" });
                total && answer["programs"] == json!([expected.with(named)])
            })
            .await;
    }
    let last = now.date_naive() + TimeDelta::days(1);
    let cut = Cut {
        first: last - TimeDelta::days(29),
        last,
        currency: "",
        link: None,
    };
    partners::as_partners_read_them(&stack, &market, &cut).await;
    stack.verify().await;
}
