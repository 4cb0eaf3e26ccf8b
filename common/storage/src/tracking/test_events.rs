//! Test rows of `click_events`, `lead_events` and `sale_events`, and the query that checks an installation by
//! them.
//!
//! Every statement here writes or reads rows with `is_test` only.

use std::collections::HashMap;

use chrono::{DateTime, Utc};
use sqlx::PgConnection;
use uuid::Uuid;

use crate::error::StorageResult;
use domain::ids::{EventId, ProgramId, ReferralLinkId};
use domain::money::AmountCents;
use domain::text::Text;
use domain::tracking::sale::SubscriptionInterval;
use domain::tracking::visitor::{CountryCode, DeviceType, Visitor};
use messages::test_event::{TestClick, TestEventRecord, TestLead, TestSale};

pub type Test<'a, T> = (&'a TestEventRecord, &'a T);

#[derive(Debug, Clone, Copy)]
pub struct NewTestClick<'a> {
    pub record: &'a TestEventRecord,
    pub click: &'a TestClick,
    pub visitor: &'a Visitor,
}

/// The ids of these test rows by event. The time is part of the partitioned tables' keys.
macro_rules! ids {
    ($connection:expr, $tests:expr, $record:pat => $record_of:expr, $table:literal, $time:literal) => {{
        columns!($record in $tests =>
            events: Uuid = $record_of.event_id.get(),
            times: DateTime<Utc> = $record_of.happened_at
        );
        let rows = fetch_all!(
            $connection,
            r#"SELECT t.event_id AS "event_id: EventId", t.id FROM UNNEST($1::uuid[], $2::timestamptz[]) AS n (event_id, at)
               JOIN "# + $table + " t ON t.event_id = n.event_id AND t." + $time + " = n.at WHERE t.is_test",
            &events,
            &times,
        );
        Ok(rows.into_iter().map(|row| (row.event_id, row.id)).collect())
    }};
}

/// Stores test clicks once each, and returns the ids of all of them by event.
pub async fn insert_clicks(
    connection: &mut PgConnection,
    new: &[NewTestClick<'_>],
) -> StorageResult<HashMap<EventId, i64>> {
    write_batch!(
        &mut *connection,
        "INSERT INTO click_events (event_id, program_id, click_timestamp, referral_link_id, session_id, page_url,
             page_title, referrer_url, user_agent, screen_resolution, viewport_size, language, timezone, geo_country,
             geo_region, geo_city, device_type, device_os, browser_name, is_bot, is_test)
         SELECT *, true FROM UNNEST($1::uuid[], $2::bigint[], $3::timestamptz[], $4::bigint[], $5::text[], $6::text[],
             $7::text[], $8::text[], $9::text[], $10::text[], $11::text[], $12::text[], $13::text[], $14::text[],
             $15::text[], $16::text[], $17::text[], $18::text[], $19::text[], $20::bool[])
         ON CONFLICT (event_id, click_timestamp) DO NOTHING",
        NewTestClick { record, click, visitor } in new =>
            events: Uuid = record.event_id.get(),
            programs: i64 = record.program_id.get(),
            times: DateTime<Utc> = record.happened_at,
            links: Option<i64> = click.referral_link_id.map(ReferralLinkId::get),
            sessions: Option<&str> = click.visit.session_id.as_ref().map(Text::as_str),
            pages: Option<&str> = click.visit.page_url.as_ref().map(Text::as_str),
            titles: Option<&str> = click.visit.page_title.as_ref().map(Text::as_str),
            referrers: Option<&str> = click.visit.referrer_url.as_ref().map(Text::as_str),
            user_agents: Option<&str> = click.visit.user_agent.as_ref().map(Text::as_str),
            screens: Option<&str> = click.visit.screen_resolution.as_ref().map(Text::as_str),
            viewports: Option<&str> = click.visit.viewport_size.as_ref().map(Text::as_str),
            languages: Option<&str> = click.visit.language.as_ref().map(Text::as_str),
            timezones: Option<&str> = click.visit.timezone.as_ref().map(Text::as_str),
            countries: Option<&str> = visitor.place.country.as_ref().map(CountryCode::as_str),
            regions: Option<&str> = visitor.place.region.as_ref().map(Text::as_str),
            cities: Option<&str> = visitor.place.city.as_ref().map(Text::as_str),
            device_types: Option<&str> = visitor.software.device_type.map(DeviceType::as_str),
            systems: Option<&str> = visitor.software.device_os.as_ref().map(Text::as_str),
            browsers: Option<&str> = visitor.software.browser_name.as_ref().map(Text::as_str),
            bots: bool = visitor.is_bot()
    );
    ids!(connection, new, new => new.record, "click_events", "click_timestamp")
}

/// Stores test leads once each, and returns the ids of all of them by event.
pub async fn insert_leads(
    connection: &mut PgConnection,
    tests: &[Test<'_, TestLead>],
) -> StorageResult<HashMap<EventId, i64>> {
    write_batch!(
        &mut *connection,
        "INSERT INTO lead_events (event_id, program_id, lead_timestamp, click_id, customer_key, event_name, is_test)
         SELECT *, true FROM UNNEST($1::uuid[], $2::bigint[], $3::timestamptz[], $4::text[], $5::text[], $6::text[])
         ON CONFLICT (event_id, lead_timestamp) DO NOTHING",
        (record, lead) in tests =>
            events: Uuid = record.event_id.get(),
            programs: i64 = record.program_id.get(),
            times: DateTime<Utc> = record.happened_at,
            click_ids: Option<&str> = lead.click_id.as_ref().map(Text::as_str),
            customer_keys: Option<&str> = lead.customer_key.as_ref().map(Text::as_str),
            names: Option<&str> = lead.event_name.as_ref().map(Text::as_str)
    );
    ids!(connection, tests, (record, _) => record, "lead_events", "lead_timestamp")
}

/// Stores test sales once each, and returns the ids of all of them by event. Claims no transaction_id.
pub async fn insert_sales(
    connection: &mut PgConnection,
    tests: &[Test<'_, TestSale>],
) -> StorageResult<HashMap<EventId, i64>> {
    write_batch!(
        &mut *connection,
        "INSERT INTO sale_events (event_id, program_id, sale_date, processor_event_id, amount_cents, currency,
             sale_type, is_recurring, subscription_id, subscription_interval, product_id, line_items, is_test)
         SELECT event_id, program_id, sale_date, transaction_id, amount, currency, sale_type, is_recurring,
                subscription_id, subscription_interval, product_id, line_items::jsonb, true
         FROM UNNEST($1::uuid[], $2::bigint[], $3::timestamptz[], $4::text[], $5::bigint[], $6::text[], $7::text[],
                     $8::bool[], $9::text[], $10::text[], $11::text[], $12::text[])
              AS s (event_id, program_id, sale_date, transaction_id, amount, currency, sale_type, is_recurring,
                    subscription_id, subscription_interval, product_id, line_items)
         ON CONFLICT (event_id) DO NOTHING",
        (record, sale) in tests =>
            events: Uuid = record.event_id.get(),
            programs: i64 = record.program_id.get(),
            times: DateTime<Utc> = record.happened_at,
            transaction_ids: &str = sale.transaction_id.as_str(),
            amounts: i64 = sale.amount.map_or(0, AmountCents::get),
            currencies: &str = sale.currency.as_str(),
            types: &str = sale.sale_type.as_str(),
            recurring: bool = sale.is_recurring,
            subscriptions: Option<&str> = sale.subscription_id.as_ref().map(Text::as_str),
            intervals: Option<&str> = sale.subscription_interval.map(SubscriptionInterval::as_str),
            products: Option<&str> = sale.product_id.as_ref().map(Text::as_str),
            line_items: Option<&str> = sale.line_items.as_ref().map(|items| items.get())
    );
    ids!(connection, tests, (record, _) => record, "sale_events", "sale_date")
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TestEvents {
    /// At most [`COUNTED`].
    pub count: i64,
    pub latest: Option<LatestTestEvent>,
}

impl TestEvents {
    pub const NONE: Self = Self {
        count: 0,
        latest: None,
    };
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LatestTestEvent {
    pub row_id: i64,
    pub timestamp: DateTime<Utc>,
    pub created_at: DateTime<Utc>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TestedProgram {
    pub workspace_id: i64,
    pub clicks: TestEvents,
    pub leads: TestEvents,
    pub sales: TestEvents,
}

/// Maximum count of test events of one type. It bounds the cost of the query.
pub const COUNTED: i64 = 10;

pub async fn of_program(
    connection: &mut PgConnection,
    program_id: ProgramId,
) -> StorageResult<Option<TestedProgram>> {
    let workspace_id = fetch_optional_scalar!(
        &mut *connection,
        "SELECT workspace_id FROM programs WHERE id = $1",
        program_id.get()
    );
    let Some(workspace_id) = workspace_id else {
        return Ok(None);
    };
    let rows = fetch_all!(
        connection,
        r#"(SELECT 'click' AS "kind!", id AS "id!", click_timestamp AS "timestamp!", created_at AS "created_at!"
            FROM click_events WHERE program_id = $1 AND is_test ORDER BY click_timestamp DESC, id DESC LIMIT $2)
           UNION ALL
           (SELECT 'lead', id, lead_timestamp, created_at
            FROM lead_events WHERE program_id = $1 AND is_test ORDER BY lead_timestamp DESC, id DESC LIMIT $2)
           UNION ALL
           (SELECT 'sale', id, sale_date, created_at
            FROM sale_events WHERE program_id = $1 AND is_test ORDER BY sale_date DESC, id DESC LIMIT $2)"#,
        program_id.get(),
        COUNTED,
    );
    let of_kind = |kind: &str| {
        let events = || rows.iter().filter(|row| row.kind == kind);
        TestEvents {
            count: i64::try_from(events().count()).unwrap_or(COUNTED),
            latest: events()
                .max_by_key(|row| (row.timestamp, row.id))
                .map(|row| LatestTestEvent {
                    row_id: row.id,
                    timestamp: row.timestamp,
                    created_at: row.created_at,
                }),
        }
    };
    Ok(Some(TestedProgram {
        workspace_id,
        clicks: of_kind("click"),
        leads: of_kind("lead"),
        sales: of_kind("sale"),
    }))
}
