//! The limits of the machine: each stage alone, in batches.
//!
//! (J) JetStream: packed messages of [`BATCH`] clicks, as many in flight as the edge has. (C) Postgres: clicks in batches. (S) Postgres:
//! sales in batches, with commissions, ledger, balances, claims and rollups. (F) the disk: one `fdatasync`. C and S use their
//! own database, and are the best of one, two and four connections.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::Result;
use async_nats::jetstream;
use async_nats::jetstream::stream::{Config, DiscardPolicy, StorageType};
use sqlx::PgPool;
use tokio::task::JoinSet;

use super::market::{LINKS, Market, PROGRAMS, code};
use super::outcome::{median, per_second};
use super::template::scattered;

/// Records in a message, and in a transaction.
const BATCH: u64 = 256;
/// Size of a click on the bus.
const RECORD_BYTES: u64 = 560;
/// Messages in flight.
const IN_FLIGHT: usize = 2;
const CONNECTIONS: [u64; 3] = [1, 2, 4];
const PAGE: &str = "https://shop.example/spring";
const BROWSER: &str = "Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0";

/// The next unused id.
static NEXT: AtomicU64 = AtomicU64::new(1);

/// (J) Clicks a second.
pub(super) async fn jetstream(context: &jetstream::Context, length: Duration) -> Result<f64> {
    let config = Config {
        name: "CEILING".to_owned(),
        subjects: vec!["ceiling".to_owned()],
        storage: StorageType::File,
        discard: DiscardPolicy::Old,
        max_bytes: 256 << 20,
        ..Config::default()
    };
    context.get_or_create_stream(config).await?;
    let message = bytes::Bytes::from(vec![b'x'; usize::try_from(BATCH * RECORD_BYTES)?]);
    let started = Instant::now();
    let mut publishers = JoinSet::new();
    for _ in 0..IN_FLIGHT {
        let (context, message) = (context.clone(), message.clone());
        publishers.spawn(async move {
            let mut published = 0;
            while started.elapsed() < length {
                context.publish("ceiling", message.clone()).await?.await?;
                published += BATCH;
            }
            anyhow::Ok(published)
        });
    }
    let mut published = 0;
    while let Some(done) = publishers.join_next().await {
        published += done??;
    }
    let rate = per_second(published, started.elapsed());
    context.delete_stream("CEILING").await?;
    Ok(rate)
}

/// (C) Clicks a second.
pub(super) async fn clicks(pool: &PgPool, market: &Market, length: Duration) -> Result<f64> {
    let links = links(pool, market).await?;
    best(length, |number| store_clicks(pool.clone(), links.clone(), number)).await
}

/// (S) Sales a second.
pub(super) async fn sales(pool: &PgPool, market: &Market, length: Duration) -> Result<f64> {
    let customers = market.size.customers;
    best(length, |number| store_sales(pool.clone(), customers, number)).await
}

/// The highest rate for any number of connections. `store` writes the batch that starts at an id.
async fn best<F, S>(length: Duration, store: F) -> Result<f64>
where
    F: Fn(u64) -> S,
    S: Future<Output = Result<()>> + Send + 'static,
{
    let mut best: f64 = 0.0;
    for connections in CONNECTIONS {
        let started = Instant::now();
        let share = length / u32::try_from(CONNECTIONS.len())?;
        let mut under_way = JoinSet::new();
        let mut stored = 0;
        for _ in 0..connections {
            under_way.spawn(store(NEXT.fetch_add(BATCH, Ordering::Relaxed)));
        }
        while let Some(done) = under_way.join_next().await {
            done??;
            stored += BATCH;
            if started.elapsed() < share {
                under_way.spawn(store(NEXT.fetch_add(BATCH, Ordering::Relaxed)));
            }
        }
        best = best.max(per_second(stored, started.elapsed()));
    }
    Ok(best)
}

/// Links with their programs.
async fn links(pool: &PgPool, market: &Market) -> Result<Vec<(i64, i64)>> {
    let codes: Vec<String> = (0..PROGRAMS * LINKS).map(code).collect();
    let links = sqlx::query_as(
        "SELECT id, program_id FROM referral_links WHERE short_code = ANY($1) AND program_id = ANY($2) ORDER BY short_code",
    )
    .bind(&codes)
    .bind(&market.program_ids)
    .fetch_all(pool)
    .await?;
    Ok(links)
}

async fn store_clicks(pool: PgPool, links: Vec<(i64, i64)>, first: u64) -> Result<()> {
    let (mut ids, mut click_ids, mut of_link, mut of_program) =
        (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for number in first..first + BATCH {
        let index = usize::try_from(scattered(number, PROGRAMS * LINKS))?;
        let (link, program) = links.get(index).copied().unwrap_or_default();
        let id = i64::try_from(number)?;
        ids.push(id);
        click_ids.push(format!("cust_{id}_1767225600000"));
        of_link.push(link);
        of_program.push(program);
    }
    let texts = vec![PAGE; ids.len()];
    let agents = vec![BROWSER; ids.len()];
    let mut transaction = pool.begin().await?;
    sqlx::query(
        "INSERT INTO customers (id, program_id, click_id, first_click_at, first_referral_link_id, touched_link_ids, touched_at)
         SELECT id, program_id, click_id, now(), link_id, ARRAY[link_id], ARRAY[now()]
         FROM UNNEST($1::bigint[], $2::bigint[], $3::text[], $4::bigint[]) AS c (id, program_id, click_id, link_id)",
    )
    .bind(&ids)
    .bind(&of_program)
    .bind(&click_ids)
    .bind(&of_link)
    .execute(&mut *transaction)
    .await?;
    sqlx::query(
        "INSERT INTO click_events (event_id, program_id, referral_link_id, customer_id, click_timestamp, click_id, session_id,
             page_url, page_title, referrer_url, user_agent, screen_resolution, viewport_size, language, timezone,
             device_type, device_os, browser_name)
         SELECT gen_random_uuid(), program_id, link_id, id, now(), click_id, 's-0123456789abcdef', page, 'Spring offers',
             'https://news.example/today', agent, '1920x1080', '1280x720', 'en-GB', 'Europe/London', 'desktop', 'Linux',
             'Firefox'
         FROM UNNEST($1::bigint[], $2::bigint[], $3::text[], $4::bigint[], $5::text[], $6::text[])
              AS c (id, program_id, click_id, link_id, page, agent)",
    )
    .bind(&ids)
    .bind(&of_program)
    .bind(&click_ids)
    .bind(&of_link)
    .bind(&texts)
    .bind(&agents)
    .execute(&mut *transaction)
    .await?;
    sqlx::query(
        "INSERT INTO rollup_deltas (program_id, referral_link_id, day, clicks)
         SELECT program_id, link_id, (now() AT TIME ZONE 'UTC')::date, count(*)
         FROM UNNEST($1::bigint[], $2::bigint[]) AS c (program_id, link_id) GROUP BY 1, 2",
    )
    .bind(&of_program)
    .bind(&of_link)
    .execute(&mut *transaction)
    .await?;
    // The same order of tables in every batch prevents deadlocks.
    for sql in [
        "WITH counted AS (SELECT id, count(*) AS clicks FROM UNNEST($1::bigint[]) AS c (id) GROUP BY 1),
              locked AS (SELECT l.id FROM referral_links l JOIN counted USING (id) ORDER BY l.id FOR NO KEY UPDATE OF l)
         UPDATE referral_links l SET clicks = l.clicks + counted.clicks, last_clicked = now()
         FROM counted JOIN locked USING (id) WHERE l.id = counted.id",
        "WITH counted AS (SELECT l.partner_program_id AS id, count(*) AS clicks
                          FROM UNNEST($1::bigint[]) AS c (id) JOIN referral_links l USING (id) GROUP BY 1),
              locked AS (SELECT p.id FROM partner_programs p JOIN counted USING (id) ORDER BY p.id FOR NO KEY UPDATE OF p)
         UPDATE partner_programs p SET clicks = p.clicks + counted.clicks, last_clicked = now()
         FROM counted JOIN locked USING (id) WHERE p.id = counted.id",
    ] {
        sqlx::query(sql).bind(&of_link).execute(&mut *transaction).await?;
    }
    transaction.commit().await?;
    Ok(())
}

const SALES: &str = "
WITH asked AS (
    SELECT * FROM UNNEST($1::text[], $2::text[]) AS s (transaction_id, customer_key)
), credited AS (
    SELECT a.transaction_id, c.id AS customer_id, c.program_id, l.id AS link_id, m.id AS membership_id, m.partner_id,
        p.id AS policy_id, p.commission_type, p.rate_bps
    FROM asked a
    JOIN customers c ON c.customer_key = a.customer_key
    JOIN referral_links l ON l.id = c.touched_link_ids[cardinality(c.touched_link_ids)]
    JOIN partner_programs m ON m.id = l.partner_program_id
    JOIN commission_policies p ON p.program_id = c.program_id
), sales AS (
    INSERT INTO sale_events (event_id, program_id, customer_id, processor_event_id, amount_cents, currency, sale_type,
        is_recurring, sale_date, referral_link_id)
    SELECT gen_random_uuid(), program_id, customer_id, transaction_id, 4900, 'USD', 'payment', false, now(), link_id
    FROM credited RETURNING id, event_id, program_id, customer_id, processor_event_id
), claims AS (
    INSERT INTO transaction_claims (transaction_id, program_id, event_id, state, sale_id)
    SELECT processor_event_id, program_id, event_id, 'recorded', id FROM sales
), earned AS (
    INSERT INTO commissions (sale_id, program_id, customer_id, partner_program_id, partner_id, referral_link_id,
        amount_cents, currency, policy_id, commission_type, rate_bps, hold_until)
    SELECT s.id, s.program_id, s.customer_id, c.membership_id, c.partner_id, c.link_id, 980, 'USD', c.policy_id,
        c.commission_type, c.rate_bps, now() + interval '15 days'
    FROM sales s JOIN credited c ON c.transaction_id = s.processor_event_id
    RETURNING *
), entries AS (
    INSERT INTO ledger_entries (entry_group, kind, account, program_id, partner_program_id, partner_id, commission_id,
        sale_id, currency, amount_cents, requested_cents)
    SELECT s.event_id, 'accrual', 'partner', e.program_id, e.partner_program_id, e.partner_id, e.id, e.sale_id, 'USD',
        e.amount_cents, e.amount_cents
    FROM earned e JOIN sales s ON s.id = e.sale_id
), summed AS (
    INSERT INTO rollup_deltas (program_id, referral_link_id, day, currency, sales, revenue_cents, commission_cents)
    SELECT program_id, referral_link_id, (now() AT TIME ZONE 'UTC')::date, 'USD', count(*), 4900 * count(*), sum(amount_cents)
    FROM earned GROUP BY 1, 2
), of_membership AS (
    INSERT INTO partner_program_balances AS b
    SELECT partner_program_id, 'USD', sum(amount_cents) FROM earned GROUP BY 1 ORDER BY 1
    ON CONFLICT (partner_program_id, currency) DO UPDATE SET balance_cents = b.balance_cents + excluded.balance_cents
), of_partner AS (
    INSERT INTO partner_balances AS b
    SELECT partner_id, 'USD', sum(amount_cents) FROM earned GROUP BY 1 ORDER BY 1
    ON CONFLICT (partner_id, currency) DO UPDATE SET balance_cents = b.balance_cents + excluded.balance_cents
)
SELECT id, sale_id FROM earned";

async fn store_sales(pool: PgPool, customers: u64, first: u64) -> Result<()> {
    let numbers = first..first + BATCH;
    let transaction_ids: Vec<String> = numbers
        .clone()
        .map(|number| format!("ceiling-{number}"))
        .collect();
    let keys: Vec<String> = numbers
        .map(|number| format!("c{:08}", scattered(number, customers)))
        .collect();
    let answers: Vec<(i64, i64)> = sqlx::query_as(SALES)
        .bind(&transaction_ids)
        .bind(&keys)
        .fetch_all(&pool)
        .await?;
    anyhow::ensure!(
        answers.len() == transaction_ids.len(),
        "a sale of the batch earned nothing"
    );
    Ok(())
}

/// (F) Milliseconds that one `fdatasync` of a page takes on the disk of a directory, in the median.
pub(super) fn fdatasync(dir: &Path, length: Duration) -> Result<f64> {
    let path = dir.join("fdatasync");
    let mut file = OpenOptions::new().create(true).append(true).open(&path)?;
    let page = [0_u8; 8192];
    let started = Instant::now();
    let mut took = Vec::new();
    while started.elapsed() < length {
        file.write_all(&page)?;
        let before = Instant::now();
        file.sync_data()?;
        took.push(before.elapsed().as_secs_f64() * 1000.0);
    }
    std::fs::remove_file(path)?;
    Ok(median(&took))
}
