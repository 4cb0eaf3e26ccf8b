//! `click_events`, and the counters of links and memberships that follow them.

use std::collections::{BTreeMap, HashSet};

use chrono::{DateTime, Utc};
use sqlx::{PgConnection, PgPool};
use uuid::Uuid;

use crate::StorageResult;
use crate::operations::alone::begin_alone;
use domain::ids::EventId;
use domain::text::Text;
use domain::visitor::{CountryCode, DeviceType, Visitor};
use messages::click::ClickRecord;

/// A click event to be stored.
#[derive(Debug, Clone, Copy)]
pub struct NewClick<'a> {
    pub record: &'a ClickRecord,
    pub visitor: &'a Visitor,
    /// Whether it moves counters and attribution; a bot's click does not where its program excludes bots.
    pub counted: bool,
}

/// Inserts click events and tells which of them are new; the others were stored by an earlier delivery.
pub async fn insert(connection: &mut PgConnection, new: &[NewClick<'_>]) -> StorageResult<HashSet<EventId>> {
    fn texts<'a, T: ?Sized, const MAX: usize>(
        rows: &[&'a T],
        field: fn(&'a T) -> &'a Option<Text<MAX>>,
    ) -> Vec<Option<&'a str>> {
        rows.iter()
            .map(|row| field(row).as_ref().map(Text::as_str))
            .collect()
    }
    let clicks: &[&ClickRecord] = &new.iter().map(|click| click.record).collect::<Vec<_>>();
    let visitors: &[&Visitor] = &new.iter().map(|click| click.visitor).collect::<Vec<_>>();
    let events: Vec<Uuid> = clicks.iter().map(|click| click.event_id.get()).collect();
    let programs: Vec<i64> = clicks.iter().map(|click| click.program_id.get()).collect();
    let links: Vec<i64> = clicks.iter().map(|click| click.referral_link_id.get()).collect();
    let customers: Vec<i64> = clicks.iter().map(|click| click.customer_id.get()).collect();
    let clicked_at: Vec<DateTime<Utc>> = clicks.iter().map(|click| click.clicked_at).collect();
    let click_ids: Vec<&str> = clicks.iter().map(|click| click.click_id.as_str()).collect();
    let countries: Vec<Option<&str>> = visitors
        .iter()
        .map(|visitor| visitor.place.country.as_ref().map(CountryCode::as_str))
        .collect();
    let device_types: Vec<Option<&str>> = visitors
        .iter()
        .map(|visitor| visitor.software.device_type.map(DeviceType::as_str))
        .collect();
    let bots: Vec<bool> = visitors.iter().map(|visitor| visitor.is_bot()).collect();
    let counted: Vec<bool> = new.iter().map(|click| click.counted).collect();
    let inserted = sqlx::query_scalar!(
        "INSERT INTO click_events (event_id, program_id, referral_link_id, customer_id, click_timestamp, click_id,
             previous_click_id, session_id, page_url, page_title, referrer_url, user_agent, screen_resolution,
             viewport_size, language, timezone, geo_country, geo_region, geo_city, device_type, device_os,
             browser_name, is_bot, counted)
         SELECT * FROM UNNEST($1::uuid[], $2::bigint[], $3::bigint[], $4::bigint[], $5::timestamptz[], $6::text[],
             $7::text[], $8::text[], $9::text[], $10::text[], $11::text[], $12::text[], $13::text[],
             $14::text[], $15::text[], $16::text[], $17::text[], $18::text[], $19::text[], $20::text[],
             $21::text[], $22::text[], $23::bool[], $24::bool[])
         ON CONFLICT (event_id, click_timestamp) DO NOTHING
         RETURNING event_id",
        &events,
        &programs,
        &links,
        &customers,
        &clicked_at,
        &click_ids as &[&str],
        &texts(clicks, |click| &click.previous_click_id) as &[Option<&str>],
        &texts(clicks, |click| &click.visit.session_id) as &[Option<&str>],
        &texts(clicks, |click| &click.visit.page_url) as &[Option<&str>],
        &texts(clicks, |click| &click.visit.page_title) as &[Option<&str>],
        &texts(clicks, |click| &click.visit.referrer_url) as &[Option<&str>],
        &texts(clicks, |click| &click.visit.user_agent) as &[Option<&str>],
        &texts(clicks, |click| &click.visit.screen_resolution) as &[Option<&str>],
        &texts(clicks, |click| &click.visit.viewport_size) as &[Option<&str>],
        &texts(clicks, |click| &click.visit.language) as &[Option<&str>],
        &texts(clicks, |click| &click.visit.timezone) as &[Option<&str>],
        &countries as &[Option<&str>],
        &texts(visitors, |visitor| &visitor.place.region) as &[Option<&str>],
        &texts(visitors, |visitor| &visitor.place.city) as &[Option<&str>],
        &device_types as &[Option<&str>],
        &texts(visitors, |visitor| &visitor.software.device_os) as &[Option<&str>],
        &texts(visitors, |visitor| &visitor.software.browser_name) as &[Option<&str>],
        &bots,
        &counted,
    )
    .fetch_all(connection)
    .await?;
    Ok(inserted.into_iter().map(EventId::new).collect())
}

/// Clicks of one link in one batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClickCount {
    pub clicks: i64,
    pub last_clicked: DateTime<Utc>,
}

/// Adds pre-summed clicks to the links and to their memberships. Last in its transaction: these are the rows
/// every other batch wants too.
pub async fn count(connection: &mut PgConnection, by_link: &BTreeMap<i64, ClickCount>) -> StorageResult<()> {
    let links: Vec<i64> = by_link.keys().copied().collect();
    let clicks: Vec<i64> = by_link.values().map(|count| count.clicks).collect();
    let last_clicked: Vec<DateTime<Utc>> = by_link.values().map(|count| count.last_clicked).collect();
    // The locking sub-select fixes the order of the locks; UPDATE … FROM alone would not.
    sqlx::query!(
        "WITH counted AS (
             SELECT l.id, n.clicks, n.last_clicked
             FROM UNNEST($1::bigint[], $2::bigint[], $3::timestamptz[]) AS n (id, clicks, last_clicked)
             JOIN referral_links l ON l.id = n.id
             ORDER BY l.id
             FOR NO KEY UPDATE OF l
         )
         UPDATE referral_links l
         SET clicks = l.clicks + counted.clicks, last_clicked = greatest(l.last_clicked, counted.last_clicked)
         FROM counted WHERE l.id = counted.id",
        &links,
        &clicks,
        &last_clicked,
    )
    .execute(&mut *connection)
    .await?;
    sqlx::query!(
        "WITH counted AS (
             SELECT l.partner_program_id AS id, sum(n.clicks)::bigint AS clicks, max(n.last_clicked) AS last_clicked
             FROM UNNEST($1::bigint[], $2::bigint[], $3::timestamptz[]) AS n (id, clicks, last_clicked)
             JOIN referral_links l ON l.id = n.id
             WHERE l.partner_program_id IS NOT NULL
             GROUP BY l.partner_program_id
         ), locked AS (
             SELECT p.id FROM partner_programs p JOIN counted ON counted.id = p.id
             ORDER BY p.id
             FOR NO KEY UPDATE OF p
         )
         UPDATE partner_programs p
         SET clicks = p.clicks + counted.clicks, last_clicked = greatest(p.last_clicked, counted.last_clicked)
         FROM counted JOIN locked ON locked.id = counted.id
         WHERE p.id = counted.id",
        &links,
        &clicks,
        &last_clicked,
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// Sets the counters of all links and memberships to what their events add up to, those that were retired included; returns how
/// many were wrong. Clicks that are being counted are waited for, and later ones wait in their stream.
pub async fn recount(pool: &PgPool) -> StorageResult<u64> {
    let mut transaction = begin_alone(pool, "referral_links, partner_programs").await?;
    let links = sqlx::query!(
        "WITH events AS (
             SELECT referral_link_id, sum(clicks)::bigint AS clicks, max(last_clicked) AS last_clicked
             FROM (SELECT referral_link_id, count(*) AS clicks, max(click_timestamp) AS last_clicked
                   FROM click_events WHERE NOT is_test AND counted GROUP BY 1
                   UNION ALL SELECT referral_link_id, clicks, last_clicked FROM retired_clicks) k
             GROUP BY 1
         ), counted AS (
             SELECT l.id, coalesce(e.clicks, 0) AS clicks, e.last_clicked
             FROM referral_links l LEFT JOIN events e ON e.referral_link_id = l.id
         )
         UPDATE referral_links l SET clicks = c.clicks, last_clicked = c.last_clicked
         FROM counted c
         WHERE c.id = l.id AND (l.clicks <> c.clicks OR l.last_clicked IS DISTINCT FROM c.last_clicked)",
    )
    .execute(&mut *transaction)
    .await?;
    let memberships = sqlx::query!(
        "WITH counted AS (
             SELECT p.id, coalesce(sum(l.clicks), 0)::bigint AS clicks, max(l.last_clicked) AS last_clicked
             FROM partner_programs p LEFT JOIN referral_links l ON l.partner_program_id = p.id
             GROUP BY p.id
         )
         UPDATE partner_programs p SET clicks = c.clicks, last_clicked = c.last_clicked
         FROM counted c
         WHERE c.id = p.id AND (p.clicks <> c.clicks OR p.last_clicked IS DISTINCT FROM c.last_clicked)",
    )
    .execute(&mut *transaction)
    .await?;
    transaction.commit().await?;
    Ok(links.rows_affected() + memberships.rows_affected())
}
