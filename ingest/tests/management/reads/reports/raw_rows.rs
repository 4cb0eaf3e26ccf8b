//! Every number of the reports equals the sum of the raw rows. The data: programs in three currencies and an
//! archived one, with clicks that do not count, tests, partial and full refunds, changes by hand and sales in
//! a second currency. Queries of this test compute the sums.

mod cohorts;
mod partners;

use std::collections::{BTreeMap, BTreeSet};

use chrono::{DateTime, NaiveDate, TimeDelta, Utc};
use domain::earnings::commission::CommissionType;
use domain::tracking::attribution::AttributionModel;
use runtime::clock::Clock;
use serde_json::{Value, json};

use test_harness::{Person, Program, Stack, Streams, percentage, rows, test_mode};

const BOT: &str = "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)";
const PHONE: &str = "Mozilla/5.0 (iPhone; CPU iPhone OS 18_1 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.1 \
                     Mobile/15E148 Safari/604.1";
const DESKTOP: &str = "Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0";
const SUMMARY: &str = "/api/advertiser/dashboard/summary";
/// For each program: its currency, another currency, and how it begins.
const PROGRAMS: [(&str, &str, &str); 4] = [
    (
        "USD",
        "EUR",
        "UPDATE programs SET exclude_bots = true, attribution_window_days = 365 WHERE id = $1",
    ),
    (
        "JPY",
        "USD",
        "UPDATE programs SET exclude_bots = true, attribution_window_days = 365, currency = 'JPY' WHERE id = $1",
    ),
    (
        "KWD",
        "USD",
        "UPDATE programs SET exclude_bots = true, attribution_window_days = 365, currency = 'KWD' WHERE id = $1",
    ),
    (
        "USD",
        "JPY",
        "UPDATE programs SET exclude_bots = true, attribution_window_days = 365 WHERE id = $1",
    ),
];
const ARCHIVED: usize = 3;

/// Figures from the rows, by name, day, currency and link.
type Figures = BTreeMap<(&'static str, NaiveDate, String, i64), i64>;

/// Day, currency, link and number of each figure. An absent currency is empty, an absent link is 0.
const RAW: [(&str, &str); 10] = [
    (
        "clicks",
        "SELECT (click_timestamp AT TIME ZONE 'UTC')::date, '', referral_link_id, count(*) FROM click_events
         WHERE program_id = $1 AND counted AND NOT is_test GROUP BY 1, 3",
    ),
    (
        "leads",
        "SELECT (signup_date AT TIME ZONE 'UTC')::date, '', coalesce(signup_link_id, 0), count(*) FROM customers
         WHERE program_id = $1 AND status <> 'click' AND signup_date IS NOT NULL GROUP BY 1, 3",
    ),
    (
        "conversions",
        "SELECT (first.at AT TIME ZONE 'UTC')::date, '', coalesce(s.referral_link_id, 0), count(*)
         FROM (SELECT customer_id, min(sale_date) AS at FROM sale_events WHERE NOT is_test GROUP BY 1) first
         JOIN sale_events s ON s.customer_id = first.customer_id AND s.sale_date = first.at
         WHERE s.program_id = $1 GROUP BY 1, 3",
    ),
    (
        "partners",
        "SELECT (created_at AT TIME ZONE 'UTC')::date, '', 0::bigint, count(*) FROM partner_programs
         WHERE program_id = $1 GROUP BY 1",
    ),
    (
        "sales",
        "SELECT (sale_date AT TIME ZONE 'UTC')::date, currency, coalesce(referral_link_id, 0), count(*) FROM sale_events
         WHERE program_id = $1 AND NOT is_test GROUP BY 1, 2, 3",
    ),
    (
        "revenue",
        "SELECT (sale_date AT TIME ZONE 'UTC')::date, currency, coalesce(referral_link_id, 0), sum(amount_cents)::bigint
         FROM sale_events WHERE program_id = $1 AND NOT is_test GROUP BY 1, 2, 3",
    ),
    (
        "refunded",
        "SELECT (r.refunded_at AT TIME ZONE 'UTC')::date, s.currency, coalesce(s.referral_link_id, 0), sum(r.effective_cents)::bigint
         FROM refunds r JOIN sale_events s ON s.id = r.sale_id WHERE s.program_id = $1 GROUP BY 1, 2, 3",
    ),
    (
        "commission",
        "SELECT (created_at AT TIME ZONE 'UTC')::date, currency, referral_link_id, sum(amount_cents - adjusted_cents)::bigint
         FROM commissions WHERE program_id = $1 AND sale_id IS NOT NULL GROUP BY 1, 2, 3",
    ),
    (
        "deducted",
        "SELECT (r.refunded_at AT TIME ZONE 'UTC')::date, s.currency, coalesce(s.referral_link_id, 0), sum(r.deducted_cents)::bigint
         FROM refunds r JOIN sale_events s ON s.id = r.sale_id WHERE s.program_id = $1 GROUP BY 1, 2, 3",
    ),
    (
        "changed",
        // Each commission is changed once.
        "SELECT (l.created_at AT TIME ZONE 'UTC')::date, c.currency, c.referral_link_id, sum(-c.adjusted_cents)::bigint
         FROM commissions c JOIN ledger_entries l ON l.commission_id = c.id AND l.kind = 'adjustment'
         WHERE c.program_id = $1 GROUP BY 1, 2, 3",
    ),
];

async fn raw(stack: &Stack, program: &Program) -> Figures {
    let mut figures = Figures::new();
    for (figure, query) in RAW {
        let rows: Vec<(NaiveDate, String, i64, i64)> = sqlx::query_as(query)
            .bind(program.program_id.get())
            .fetch_all(stack.pool())
            .await
            .unwrap();
        for (day, currency, link, number) in rows {
            *figures.entry((figure, day, currency, link)).or_default() += number;
        }
    }
    figures
}

/// The days of a range, both included, the currency of its amounts, and one link or all.
#[derive(Debug, Clone, Copy)]
struct Cut<'a> {
    first: NaiveDate,
    last: NaiveDate,
    currency: &'a str,
    link: Option<i64>,
}

impl Cut<'_> {
    fn sum(&self, figures: &Figures, wanted: &str, currency: Option<&str>) -> i64 {
        figures
            .iter()
            .filter(|((figure, day, its, link), _)| {
                *figure == wanted
                    && (self.first..=self.last).contains(day)
                    && currency.is_none_or(|currency| currency == its)
                    && self.link.is_none_or(|wanted| wanted == *link)
            })
            .map(|(_, number)| number)
            .sum()
    }

    fn count(&self, figures: &Figures, wanted: &str) -> i64 {
        self.sum(figures, wanted, None)
    }

    fn cents(&self, figures: &Figures, wanted: &str) -> i64 {
        self.sum(figures, wanted, Some(self.currency))
    }

    fn earnings(&self, figures: &Figures) -> Value {
        let cents = |wanted| self.cents(figures, wanted);
        let (revenue, sales) = (cents("revenue"), cents("sales"));
        let taken = cents("deducted") + cents("changed");
        // Rounded to the nearest, halves up.
        let average = if sales > 0 {
            (2 * revenue + sales) / (2 * sales)
        } else {
            0
        };
        json!({
            "revenue_cents": revenue, "refunded_cents": cents("refunded"),
            "net_revenue_cents": revenue - cents("refunded"), "commission_cents": cents("commission"),
            "commission_taken_back_cents": taken, "net_commission_cents": cents("commission") - taken,
            "average_order_cents": average,
        })
    }

    fn all(&self, figures: &Figures) -> Value {
        let mut all = self.earnings(figures);
        for count in ["clicks", "leads", "conversions", "partners", "sales"] {
            all[count] = self.count(figures, count).into();
        }
        all
    }

    /// Figures by day, their totals, and the totals of every currency.
    fn period(&self, figures: &Figures, currencies: &[String]) -> Value {
        let days = self.first.iter_days().take_while(|day| *day <= self.last);
        let days: Vec<Value> = days
            .map(|day| {
                let mut of_day = Cut {
                    first: day,
                    last: day,
                    ..*self
                }
                .all(figures);
                of_day["date"] = day.to_string().into();
                of_day
            })
            .collect();
        let currencies: Vec<Value> = currencies
            .iter()
            .map(|currency| {
                let of_currency = Cut { currency, ..*self };
                let mut earnings = of_currency.earnings(figures);
                earnings["currency"] = currency.as_str().into();
                earnings["sales"] = of_currency.cents(figures, "sales").into();
                earnings
            })
            .collect();
        json!({
            "range": { "first": self.first.to_string(), "last": self.last.to_string() },
            "days": days, "total": self.all(figures), "currencies": currencies,
        })
    }

    fn before(&self) -> Self {
        let length = self.last - self.first + TimeDelta::days(1);
        Self {
            first: self.first - length,
            last: self.first - TimeDelta::days(1),
            ..*self
        }
    }
}

fn report(cut: &Cut<'_>, figures: &Figures) -> Value {
    let before = cut.before();
    let known: BTreeSet<&String> = figures
        .keys()
        .filter(|(_, day, currency, link)| {
            !currency.is_empty()
                && (before.first..=cut.last).contains(day)
                && cut.link.is_none_or(|wanted| wanted == *link)
        })
        .map(|(_, _, currency, _)| currency)
        .collect();
    let others = known.into_iter().filter(|currency| *currency != cut.currency);
    let currencies: Vec<String> = std::iter::once(cut.currency.to_owned())
        .chain(others.cloned())
        .collect();
    let mut report = cut.period(figures, &currencies);
    report["currency"] = cut.currency.into();
    report["previous"] = before.period(figures, &currencies);
    report
}

/// Rounds to `decimals` decimals, halves away from zero, by long division.
fn rounded(numerator: i64, denominator: i64, decimals: u32) -> f64 {
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

fn trend(previous: i64, current: i64) -> Value {
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

/// In the contract's form: dollars, and averages by conversions.
fn performance(cut: &Cut<'_>, figures: &Figures) -> (Value, Value) {
    let before = cut.before();
    let dollars = |cents| rounded(cents, 100, 2);
    let days = cut.first.iter_days().take_while(|day| *day <= cut.last);
    let days = days.map(|day| {
        let cut = Cut {
            first: day,
            last: day,
            ..*cut
        };
        json!({
            "date": day.to_string(), "period": day.to_string(), "sales": 0,
            "clicks": cut.count(figures, "clicks"), "leads": cut.count(figures, "leads"),
            "conversions": cut.count(figures, "conversions"), "partners": cut.count(figures, "partners"),
            "revenue": dollars(cut.cents(figures, "revenue")), "commission": dollars(cut.cents(figures, "commission")),
        })
    });
    let count = |wanted| cut.count(figures, wanted);
    let cents = |wanted| cut.cents(figures, wanted);
    let counts = |wanted| trend(before.count(figures, wanted), cut.count(figures, wanted));
    let amounts = |wanted| trend(before.cents(figures, wanted), cut.cents(figures, wanted));
    let metrics = json!({
        "totalClicks": count("clicks"), "totalLeads": count("leads"), "totalConversions": count("conversions"),
        "totalPartners": count("partners"), "totalSales": count("sales"), "totalRevenue": dollars(cents("revenue")),
        "totalPartnersCommission": dollars(cents("commission")),
        "conversionRate": rounded(count("conversions") * 100, count("clicks"), 2),
        "averageOrderValue": rounded(cents("revenue"), count("conversions") * 100, 2),
        "clicksTrend": counts("clicks"), "leadsTrend": counts("leads"), "conversionsTrend": counts("conversions"),
        "partnersTrend": counts("partners"), "salesTrend": counts("sales"), "revenueTrend": amounts("revenue"),
        "commissionTrend": amounts("commission"),
    });
    (days.collect(), metrics)
}

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
        let sale = json!({
            "transaction_id": self.id(number), "amount_cents": amount_cents, "currency": currency, "customer_key": customer,
        });
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
        let test = json!({ "transaction_id": self.id(99), "amount_cents": 7_000, "additional_data": { "test_mode": true } });
        stack.sold(program, test).await;
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
        let path = |rest: &str| {
            let program_id = self.program.program_id;
            format!("/api/advertiser/affiliate-programs/{program_id}/commissions/{rest}")
        };
        let reject = json!({ "commission_ids": [id(5).await], "reason": "own purchase" });
        self.stack
            .submit(&path("reject"), Some(&owner.token), reject)
            .await
            .ok();
        for (number, cents) in [(6, 100), (7, -50)] {
            let adjust = json!({ "amount_cents": cents, "reason": "agreed" });
            let path = path(&format!("{}/adjust", id(number).await));
            self.stack.submit(&path, Some(&owner.token), adjust).await.ok();
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
    for (currency, other, beginning) in PROGRAMS {
        stack.clock.set(now - TimeDelta::days(45));
        let (model, kind) = (AttributionModel::LastClick, CommissionType::CpsLifetime);
        let program = stack
            .program_founded(model, kind, percentage(2_000), &[beginning])
            .await;
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
    let path = format!(
        "/api/advertiser/affiliate-programs/{}/report/breakdown?{query}",
        owned.program.program_id
    );
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
        for (sort, field) in [
            ("clicks", "clicks"),
            ("leads", "leads"),
            ("conversions", "conversions"),
            ("sales", "sales"),
            ("revenue", "revenue_cents"),
            ("refunded", "refunded_cents"),
            ("net_revenue", "net_revenue_cents"),
            ("commission", "commission_cents"),
            ("net_commission", "net_commission_cents"),
        ] {
            let mut rows: Vec<Value> = expected.iter().filter(|row| row["by"] == by).cloned().collect();
            for row in &mut rows {
                row.as_object_mut().unwrap().remove("by");
            }
            let place = |row: &Value| (row[field].as_i64().unwrap(), row["id"].as_i64().unwrap());
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
        let page = breakdown(
            stack,
            owned,
            &format!("by={by}&dateFrom={}&dateTo={}", cut.first, cut.last),
        )
        .await;
        let shown: Vec<(Option<String>, i64)> = page["data"]
            .as_array()
            .unwrap()
            .iter()
            .map(|row| {
                (
                    row["name"].as_str().map(str::to_owned),
                    row["clicks"].as_i64().unwrap(),
                )
            })
            .collect();
        assert_eq!(shown, rows, "by {by}");
        assert!(by == "country" || rows.len() > 1, "{rows:?}");
    }
}

/// A program's commissions by currency: pending, and payable now. Nothing was paid out.
const OWED: &str = "
    SELECT currency, sum(amount_cents - deducted_cents) FILTER (WHERE NOT payable)::bigint,
           sum(amount_cents - deducted_cents) FILTER (WHERE payable)::bigint
    FROM (SELECT *, status = 'approved' OR status = 'refunded' AND (approved_at IS NOT NULL OR hold_until <= $2) AS payable
          FROM commissions WHERE program_id = $1 AND status IN ('pending', 'approved', 'refunded')) c
    GROUP BY 1";

async fn summary(stack: &Stack, owned: &Owned, cut: &Cut<'_>, now: DateTime<Utc>) -> Value {
    let figures = raw(stack, &owned.program).await;
    let unpaid: Vec<(String, Option<i64>, Option<i64>)> = sqlx::query_as(OWED)
        .bind(owned.program.program_id.get())
        .bind(now)
        .fetch_all(stack.pool())
        .await
        .unwrap();
    let mut currencies: BTreeMap<&str, (i64, i64)> = unpaid
        .iter()
        .map(|(currency, pending, approved)| {
            (
                currency.as_str(),
                (pending.unwrap_or_default(), approved.unwrap_or_default()),
            )
        })
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
        assert!(
            taken_back > 0 && cut.cents(&figures, "refunded") > 0,
            "{figures:?}"
        );
        for (first, last) in [(29, 0), (59, 0), (20, 11), (16, 16)] {
            let before = |days| cut.last - TimeDelta::days(days);
            let cut = Cut {
                first: before(first),
                last: before(last),
                ..cut
            };
            let range = format!("dateFrom={}&dateTo={}", cut.first, cut.last);
            let answer = stack.get(&program.path(&format!("report?{range}")), token).await;
            assert_eq!(
                *answer.data(),
                report(&cut, &figures),
                "program {number}, {range}"
            );
            let path = format!("/api/tracking/performance/{}?{range}", program.program_id);
            let answer = stack.get(&path, token).await.body;
            let (days, metrics) = performance(&cut, &figures);
            assert_eq!(
                (&answer["data"], &answer["metrics"]),
                (&days, &metrics),
                "{range}"
            );
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
                let mut expected = summary(&stack, owned, &month, stack.clock.now()).await;
                let answer = stack.get(SUMMARY, token).await.body["data"].clone();
                if number == ARCHIVED {
                    return answer["programs"] == json!([]);
                }
                let total = answer["total"] == expected;
                expected["program_id"] = program.program_id.get().into();
                expected["name"] = "Program".into();
                expected["status"] = "live".into();
                total && answer["programs"] == json!([expected])
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
