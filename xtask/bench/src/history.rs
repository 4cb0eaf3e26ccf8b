//! Generates the history of a program: clicks, and the leads and sales that follow.
//!
//! Inserts whole sets directly into the tables, in order of time, so that indexes grow at their ends. Every
//! customer has one click; a tenth are leads, a fiftieth have paid once. The result satisfies `ctl verify`:
//! counters, balances, ledger and days.

use std::time::Duration;

use anyhow::{Context, Result};
use harness::progress::Step;
use sqlx::{AssertSqlSafe, PgPool};

use super::environment::BenchEnvironment;
use super::market::{LINKS, PROGRAMS, code};

/// Ids beyond those of the market's customers.
const FROM: i64 = 1 << 42;
/// Length of the history in days: within the attribution window, and twice a month's report.
const DAYS: i64 = 59;
/// Rows in one statement.
const CHUNK: u64 = 500_000;

/// Extends the program's history to this number of clicks.
pub(super) fn grow(bench: &mut BenchEnvironment<'_>, had: u64, wanted: u64) -> Result<Duration> {
    let started = std::time::Instant::now();
    // Records in flight would change the sums computed here.
    bench.settle()?;
    let step = Step::start(format_args!("Loading a past of {wanted} clicks"));
    let program_id = bench.market.hot_program();
    bench.runtime.block_on(
        sqlx::query("SELECT ensure_event_partitions((now() - make_interval(days => 60))::date, 6)")
            .execute(&bench.pool),
    )?;
    let mut from = had;
    while from < wanted {
        bench.interrupt.check()?;
        let to = wanted.min(from + CHUNK);
        let chunk = Chunk {
            had,
            wanted,
            from,
            to,
        };
        // Two tables concurrently, for two cores.
        bench.runtime.block_on(async {
            tokio::try_join!(chunk.run(&bench.pool, CUSTOMERS), chunk.run(&bench.pool, CLICKS),)
        })?;
        bench.runtime.block_on(async {
            tokio::try_join!(chunk.run(&bench.pool, LEADS), chunk.run(&bench.pool, SALES))
        })?;
        from = to;
    }
    bench.runtime.block_on(count(&bench.pool, wanted - had))?;
    bench.execute(BALANCES)?;
    bench.ctl(&["rollups", "rebuild", "--program-id", &program_id.to_string()])?;
    // As after months of operation.
    bench.execute("VACUUM (ANALYZE)")?;
    bench.checkpoint()?;
    step.done("loaded, vacuumed and analysed");
    if had == 0 {
        // The first part is small, so that an error appears early.
        bench
            .ctl(&["verify"])
            .context("the past does not agree with itself")?;
    }
    Ok(started.elapsed())
}

/// Customers and clicks `from..to` of `had..wanted`, which are spread evenly over the history.
struct Chunk {
    had: u64,
    wanted: u64,
    from: u64,
    to: u64,
}

impl Chunk {
    async fn run(&self, pool: &PgPool, sql: &str) -> Result<()> {
        // Literals: parameters in `generate_series` of a CTE that is used twice would be evaluated twice.
        let sql = sql
            .replace(":clicked", CLICKED)
            .replace(":had", &self.had.to_string())
            .replace(":wanted", &self.wanted.to_string())
            .replace(":from", &self.from.to_string())
            .replace(":to", &self.to.to_string())
            .replace(":base", &FROM.to_string())
            .replace(":days", &DAYS.to_string())
            .replace(":code", &code(PROGRAMS * LINKS));
        sqlx::raw_sql(AssertSqlSafe(sql))
            .execute(pool)
            .await
            .context("cannot load the past")?;
        Ok(())
    }
}

/// Clicks of one link, with the number `n` and the time `at`.
const CLICKED: &str = "FROM referral_links l, generate_series(:from::bigint, :to - 1) AS n
CROSS JOIN LATERAL (
    SELECT date_trunc('day', now()) - make_interval(days => :days)
        + (n - :had) * make_interval(days => :days) / (:wanted - :had) AS at) AS t
WHERE l.short_code = ':code'";

const CUSTOMERS: &str = "
INSERT INTO customers (id, program_id, click_id, customer_key, status, first_click_at, first_referral_link_id,
    touched_link_ids, touched_at, signup_date, signup_link_id, first_purchase_date, first_purchase_link_id)
SELECT :base + n, l.program_id, 'cust_' || :base + n || '_1', CASE WHEN n % 10 = 0 THEN 'p' || n END,
    CASE WHEN n % 50 = 0 THEN 'conversion' WHEN n % 10 = 0 THEN 'lead' ELSE 'click' END,
    at, l.id, ARRAY[l.id], ARRAY[at],
    CASE WHEN n % 10 = 0 THEN at + interval '1 hour' END, CASE WHEN n % 10 = 0 THEN l.id END,
    CASE WHEN n % 50 = 0 THEN at + interval '2 hours' END, CASE WHEN n % 50 = 0 THEN l.id END
:clicked";

const CLICKS: &str = "
INSERT INTO click_events (event_id, program_id, referral_link_id, customer_id, click_timestamp, click_id, session_id,
    page_url, page_title, referrer_url, user_agent, screen_resolution, viewport_size, language, timezone,
    device_type, device_os, browser_name, created_at)
SELECT ('00000000-' || lpad(to_hex(n >> 16), 4, '0') || '-7' || lpad(to_hex(n & 4095), 3, '0') || '-8000-' || lpad(to_hex(n), 12, '0'))::uuid,
    l.program_id, l.id, :base + n, at, 'cust_' || :base + n || '_1', 's-' || lpad(n::text, 16, '0'),
    'https://shop.example/spring', 'Spring offers', 'https://news.example/today',
    'Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0', '1920x1080', '1280x720', 'en-GB',
    'Europe/London', 'desktop', 'Linux', 'Firefox', at
:clicked";

const LEADS: &str = "
INSERT INTO lead_events (event_id, program_id, customer_id, lead_timestamp, click_id, customer_key, created_at)
SELECT gen_random_uuid(), program_id, id, signup_date, click_id, customer_key, signup_date
FROM customers WHERE id >= :base + :from AND id < :base + :to AND signup_date IS NOT NULL";

/// One sale of each customer who has paid.
const SALES: &str = "
WITH sales AS (
    INSERT INTO sale_events (event_id, program_id, customer_id, processor_event_id, amount_cents, currency, sale_type,
        is_recurring, sale_date, created_at, referral_link_id)
    SELECT gen_random_uuid(), program_id, id, 'past-' || id, 4900, 'USD', 'payment', false, first_purchase_date,
        first_purchase_date, first_purchase_link_id
    FROM customers WHERE id >= :base + :from AND id < :base + :to AND first_purchase_date IS NOT NULL
    RETURNING *
), claims AS (
    INSERT INTO transaction_claims (transaction_id, program_id, event_id, state, sale_id, claimed_at)
    SELECT processor_event_id, program_id, event_id, 'recorded', id, created_at FROM sales
), earned AS (
    INSERT INTO commissions (sale_id, program_id, customer_id, partner_program_id, partner_id, referral_link_id,
        amount_cents, currency, policy_id, commission_type, rate_bps, hold_until, created_at)
    SELECT s.id, s.program_id, s.customer_id, l.partner_program_id, l.partner_id, l.id, 980, 'USD', p.id,
        p.commission_type, p.rate_bps, now() + interval '15 days', s.created_at
    FROM sales s JOIN referral_links l ON l.id = s.referral_link_id JOIN commission_policies p ON p.program_id = s.program_id
    RETURNING *
)
INSERT INTO ledger_entries (entry_group, kind, program_id, partner_program_id, partner_id, commission_id,
    sale_id, currency, amount_cents, requested_cents, created_at)
SELECT s.event_id, 'accrual', c.program_id, c.partner_program_id, c.partner_id, c.id, c.sale_id, 'USD',
    c.amount_cents, c.amount_cents, c.created_at
FROM earned c JOIN sales s ON s.id = c.sale_id";

/// Balances: nothing was refunded or paid out.
const BALANCES: &str = "
INSERT INTO partner_program_balances
SELECT partner_program_id, currency, sum(amount_cents) FROM commissions GROUP BY 1, 2
ON CONFLICT (partner_program_id, currency) DO UPDATE SET balance_cents = excluded.balance_cents;
INSERT INTO partner_balances
SELECT partner_id, currency, sum(amount_cents) FROM commissions GROUP BY 1, 2
ON CONFLICT (partner_id, currency) DO UPDATE SET balance_cents = excluded.balance_cents";

/// The counters of the one link, and of its membership.
async fn count(pool: &PgPool, clicks: u64) -> Result<()> {
    let (code, clicks) = (code(PROGRAMS * LINKS), i64::try_from(clicks)?);
    sqlx::query(
        "WITH last AS (
             SELECT l.id, l.partner_program_id, (
                 SELECT max(click_timestamp) FROM click_events e
                 WHERE e.referral_link_id = l.id AND e.counted AND NOT e.is_test) AS at
             FROM referral_links l WHERE short_code = $1
         ), link AS (
             UPDATE referral_links l SET clicks = l.clicks + $2, last_clicked = last.at FROM last WHERE l.id = last.id
         )
         UPDATE partner_programs p SET clicks = p.clicks + $2, last_clicked = last.at
         FROM last WHERE p.id = last.partner_program_id",
    )
    .bind(code)
    .bind(clicks)
    .execute(pool)
    .await?;
    Ok(())
}
