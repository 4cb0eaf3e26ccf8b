//! The reports as they must be, by the raw rows.

use std::collections::{BTreeMap, BTreeSet};

use chrono::{NaiveDate, TimeDelta};
use serde_json::{Value, json};
use test_harness::{Program, Stack};

/// Figures from the rows, by name, day, currency and link.
pub type Figures = BTreeMap<(&'static str, NaiveDate, String, i64), i64>;

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

pub async fn raw(stack: &Stack, program: &Program) -> Figures {
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
pub struct Cut<'a> {
    pub first: NaiveDate,
    pub last: NaiveDate,
    pub currency: &'a str,
    pub link: Option<i64>,
}

impl Cut<'_> {
    pub fn sum(&self, figures: &Figures, wanted: &str, currency: Option<&str>) -> i64 {
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

    pub fn count(&self, figures: &Figures, wanted: &str) -> i64 {
        self.sum(figures, wanted, None)
    }

    pub fn cents(&self, figures: &Figures, wanted: &str) -> i64 {
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

    pub fn all(&self, figures: &Figures) -> Value {
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
                let mut of_day = self.on(day).all(figures);
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

    fn on(&self, day: NaiveDate) -> Self {
        Self {
            first: day,
            last: day,
            ..*self
        }
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

pub fn report(cut: &Cut<'_>, figures: &Figures) -> Value {
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
pub fn performance(cut: &Cut<'_>, figures: &Figures) -> (Value, Value) {
    let before = cut.before();
    let dollars = |cents| rounded(cents, 100, 2);
    let days = cut.first.iter_days().take_while(|day| *day <= cut.last);
    let days = days.map(|day| {
        let cut = cut.on(day);
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
