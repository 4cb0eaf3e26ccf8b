//! `click_events`, and the counters of links and memberships.

use std::collections::{BTreeMap, HashMap};

use chrono::{DateTime, Utc};
use sqlx::{PgConnection, PgPool};
use uuid::Uuid;

use crate::error::StorageResult;
use crate::operations::alone::begin_alone;
use crate::tracking::shared_texts::SharedIds;
use domain::ids::EventId;
use domain::text::Text;
use domain::tracking::visitor::{CountryCode, DeviceType, Visitor};
use messages::click::ClickRecord;

#[derive(Debug, Clone, Copy)]
pub struct NewClick<'a> {
    pub record: &'a ClickRecord,
    pub visitor: &'a Visitor,
    /// Ids of texts that are stored in `shared_texts`.
    pub shared: &'a SharedIds,
    /// Whether the click changes counters and attribution: not a bot's, if its program excludes bots.
    pub counted: bool,
}

/// Inserts click events. Returns the new ones, and whether their program's event stream is on.
pub async fn insert(
    connection: &mut PgConnection,
    new: &[NewClick<'_>],
) -> StorageResult<HashMap<EventId, bool>> {
    Ok(unnest!(
        query,
        r#"INSERT INTO click_events (event_id, program_id, referral_link_id, customer_id, click_timestamp, click_id,
             previous_click_id, session_id, page_url, page_title, referrer_url, user_agent, screen_resolution,
             viewport_size, language, timezone, geo_country, geo_region, geo_city, device_type, device_os,
             browser_name, is_bot, counted, user_agent_id, page_title_id)
         SELECT * FROM UNNEST($1::uuid[], $2::bigint[], $3::bigint[], $4::bigint[], $5::timestamptz[], $6::text[],
             $7::text[], $8::text[], $9::text[], $10::text[], $11::text[], $12::text[], $13::text[],
             $14::text[], $15::text[], $16::text[], $17::text[], $18::text[], $19::text[], $20::text[],
             $21::text[], $22::text[], $23::bool[], $24::bool[], $25::bigint[], $26::bigint[])
         ON CONFLICT (event_id, click_timestamp) DO NOTHING
         RETURNING event_id, program_id IN (SELECT program_id FROM event_streams) AS "is_streamed!""#,
        NewClick { record, visitor, shared, counted } in new =>
            events: Uuid = record.event_id.get(),
            programs: i64 = record.program_id.get(),
            links: i64 = record.referral_link_id.get(),
            customers: i64 = record.customer_id.get(),
            clicked_at: DateTime<Utc> = record.clicked_at,
            click_ids: &str = record.click_id.as_str(),
            previous_click_ids: Option<&str> = record.previous_click_id.as_ref().map(Text::as_str),
            sessions: Option<&str> = record.visit.session_id.as_ref().map(Text::as_str),
            pages: Option<&str> = record.visit.page_url.as_ref().map(Text::as_str),
            titles: Option<&str> = record.visit.page_title.as_ref().map(Text::as_str).filter(|text| !shared.contains_key(*text)),
            referrers: Option<&str> = record.visit.referrer_url.as_ref().map(Text::as_str),
            user_agents: Option<&str> = record.visit.user_agent.as_ref().map(Text::as_str).filter(|text| !shared.contains_key(*text)),
            screens: Option<&str> = record.visit.screen_resolution.as_ref().map(Text::as_str),
            viewports: Option<&str> = record.visit.viewport_size.as_ref().map(Text::as_str),
            languages: Option<&str> = record.visit.language.as_ref().map(Text::as_str),
            timezones: Option<&str> = record.visit.timezone.as_ref().map(Text::as_str),
            countries: Option<&str> = visitor.place.country.as_ref().map(CountryCode::as_str),
            regions: Option<&str> = visitor.place.region.as_ref().map(Text::as_str),
            cities: Option<&str> = visitor.place.city.as_ref().map(Text::as_str),
            device_types: Option<&str> = visitor.software.device_type.map(DeviceType::as_str),
            systems: Option<&str> = visitor.software.device_os.as_ref().map(Text::as_str),
            browsers: Option<&str> = visitor.software.browser_name.as_ref().map(Text::as_str),
            bots: bool = visitor.is_bot(),
            counts: bool = *counted,
            user_agent_ids: Option<i64> = record.visit.user_agent.as_ref().and_then(|text| shared.get(text.as_str())).copied(),
            title_ids: Option<i64> = record.visit.page_title.as_ref().and_then(|text| shared.get(text.as_str())).copied()
    )
    .map(|click| (EventId::new(click.event_id), click.is_streamed))
    .fetch_all(connection)
    .await?
    .into_iter()
    .collect())
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClickCount {
    pub clicks: i64,
    pub last_clicked: DateTime<Utc>,
}

/// Adds the batch's counts to links and memberships: last, because all batches update these rows.
pub async fn count(connection: &mut PgConnection, by_link: &BTreeMap<i64, ClickCount>) -> StorageResult<()> {
    columns!((link, count) in by_link =>
        links: i64 = *link,
        clicks: i64 = count.clicks,
        last_clicked: DateTime<Utc> = count.last_clicked,
    );
    // The locking sub-select fixes the lock order, which UPDATE … FROM alone would not.
    execute!(
        &mut *connection,
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
    );
    execute!(
        connection,
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
    );
    Ok(())
}

/// Recomputes the counters of all links and memberships from click events, retired ones included. Returns how
/// many were wrong. Waits for transactions that count clicks. Later clicks wait in their stream.
pub async fn recount(pool: &PgPool) -> StorageResult<u64> {
    let mut transaction = begin_alone(pool, "referral_links, partner_programs").await?;
    let links = execute!(
        &mut *transaction,
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
    );
    let memberships = execute!(
        &mut *transaction,
        "WITH counted AS (
             SELECT p.id, coalesce(sum(l.clicks), 0)::bigint AS clicks, max(l.last_clicked) AS last_clicked
             FROM partner_programs p LEFT JOIN referral_links l ON l.partner_program_id = p.id
             GROUP BY p.id
         )
         UPDATE partner_programs p SET clicks = c.clicks, last_clicked = c.last_clicked
         FROM counted c
         WHERE c.id = p.id AND (p.clicks <> c.clicks OR p.last_clicked IS DISTINCT FROM c.last_clicked)",
    );
    transaction.commit().await?;
    Ok(links + memberships)
}
