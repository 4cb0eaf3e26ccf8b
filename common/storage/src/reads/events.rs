//! Events as the dashboard lists them: click, lead and sale events of one program, newest first.
//!
//! Each read is driven by an index of its table, `(program_id, time)` over the real rows or over the test rows, and touches
//! about as many rows as it returns, however many there are.

use chrono::{DateTime, Utc};
use sqlx::PgConnection;

use crate::error::StorageResult;
use domain::ids::ProgramId;

domain::text_enum! {
    /// A sale is listed as a conversion.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum EventType {
        Click = "click",
        Lead = "lead",
        Conversion = "conversion",
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedEvent {
    pub id: i64,
    pub timestamp: DateTime<Utc>,
    /// `None` for test events.
    pub customer_id: Option<i64>,
    /// Test events may have none.
    pub click_id: Option<String>,
    pub created_at: DateTime<Utc>,
    pub is_test: bool,
    pub details: EventDetails,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EventDetails {
    Click(ClickDetails),
    Lead(LeadDetails),
    Conversion(ConversionDetails),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClickDetails {
    pub session_id: Option<String>,
    pub page_url: Option<String>,
    pub referrer_url: Option<String>,
    pub geo_country: Option<String>,
    pub geo_region: Option<String>,
    pub geo_city: Option<String>,
    pub device_type: Option<String>,
    pub device_os: Option<String>,
    pub browser_name: Option<String>,
    /// The customer is a conversion by now.
    pub converted: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeadDetails {
    pub customer_key: Option<String>,
    pub session_id: Option<String>,
    pub page_url: Option<String>,
    /// The customer is a conversion by now.
    pub converted: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConversionDetails {
    pub amount_cents: i64,
    pub currency: String,
    pub sale_type: String,
    pub payment_status: String,
    pub processor_event_id: String,
    pub is_recurring: bool,
}

impl ListedEvent {
    pub const fn event_type(&self) -> EventType {
        match self.details {
            EventDetails::Click(_) => EventType::Click,
            EventDetails::Lead(_) => EventType::Lead,
            EventDetails::Conversion(_) => EventType::Conversion,
        }
    }

    /// Its position among events of all types, in a stable order: by time, then by type and id.
    pub const fn place(&self) -> (DateTime<Utc>, EventType, i64) {
        (self.timestamp, self.event_type(), self.id)
    }
}

/// Events of one type, from `from` up to `before`.
#[derive(Debug, Clone, Copy)]
pub struct EventRead {
    pub program_id: ProgramId,
    pub event_type: EventType,
    pub from: DateTime<Utc>,
    pub before: Before,
    pub with_tests: bool,
    pub limit: i64,
}

/// A place in the list of one type, newest first.
#[derive(Debug, Clone, Copy)]
pub struct Before {
    timestamp: DateTime<Utc>,
    id: i64,
}

impl Before {
    /// Everything that happened earlier, or at this instant with a lower id.
    pub(super) const fn new(timestamp: DateTime<Utc>, id: i64) -> Self {
        Self { timestamp, id }
    }

    pub(super) const fn timestamp(self) -> DateTime<Utc> {
        self.timestamp
    }

    pub(super) const fn id(self) -> i64 {
        self.id
    }

    /// Everything that happened earlier.
    pub const fn instant(until: DateTime<Utc>) -> Self {
        Self {
            timestamp: until,
            id: i64::MIN,
        }
    }

    /// Everything that is listed after this event.
    pub const fn event(event: &ListedEvent) -> Self {
        Self {
            timestamp: event.timestamp,
            id: event.id,
        }
    }
}

/// Newest first.
pub async fn newest(connection: &mut PgConnection, read: &EventRead) -> StorageResult<Vec<ListedEvent>> {
    match read.event_type {
        EventType::Click => clicks(connection, read).await,
        EventType::Lead => leads(connection, read).await,
        EventType::Conversion => conversions(connection, read).await,
    }
}

async fn clicks(connection: &mut PgConnection, read: &EventRead) -> StorageResult<Vec<ListedEvent>> {
    let rows = sqlx::query!(
        r#"SELECT e.id AS "id!", e.click_timestamp AS "timestamp!", e.customer_id AS "customer_id?", e.click_id, e.created_at AS "created_at!",
                  e.is_test AS "is_test!", e.session_id, e.page_url, e.referrer_url, e.geo_country, e.geo_region,
                  e.geo_city, e.device_type, e.device_os, e.browser_name,
                  coalesce(c.status = 'conversion', false) AS "converted!"
           FROM (
               (SELECT * FROM click_events
                WHERE program_id = $1 AND NOT is_test AND click_timestamp >= $2 AND click_timestamp <= $3
                  AND (click_timestamp < $3 OR id < $4)
                ORDER BY click_timestamp DESC, id DESC LIMIT $5)
               UNION ALL
               (SELECT * FROM click_events
                WHERE $6 AND program_id = $1 AND is_test AND click_timestamp >= $2 AND click_timestamp <= $3
                  AND (click_timestamp < $3 OR id < $4)
                ORDER BY click_timestamp DESC, id DESC LIMIT $5)
               ORDER BY click_timestamp DESC, id DESC LIMIT $5
           ) e
           LEFT JOIN customers c ON c.id = e.customer_id
           ORDER BY e.click_timestamp DESC, e.id DESC"#,
        read.program_id.get(),
        read.from,
        read.before.timestamp,
        read.before.id,
        read.limit,
        read.with_tests,
    )
    .fetch_all(connection)
    .await?;
    Ok(rows
        .into_iter()
        .map(|row| ListedEvent {
            id: row.id,
            timestamp: row.timestamp,
            customer_id: row.customer_id,
            click_id: row.click_id,
            created_at: row.created_at,
            is_test: row.is_test,
            details: EventDetails::Click(ClickDetails {
                session_id: row.session_id,
                page_url: row.page_url,
                referrer_url: row.referrer_url,
                geo_country: row.geo_country,
                geo_region: row.geo_region,
                geo_city: row.geo_city,
                device_type: row.device_type,
                device_os: row.device_os,
                browser_name: row.browser_name,
                converted: row.converted,
            }),
        })
        .collect())
}

async fn leads(connection: &mut PgConnection, read: &EventRead) -> StorageResult<Vec<ListedEvent>> {
    let rows = sqlx::query!(
        r#"SELECT e.id AS "id!", e.lead_timestamp AS "timestamp!", e.customer_id AS "customer_id?", e.click_id, e.created_at AS "created_at!",
                  e.is_test AS "is_test!", e.customer_key, e.session_id, e.page_url,
                  coalesce(c.status = 'conversion', false) AS "converted!"
           FROM (
               (SELECT * FROM lead_events
                WHERE program_id = $1 AND NOT is_test AND lead_timestamp >= $2 AND lead_timestamp <= $3
                  AND (lead_timestamp < $3 OR id < $4)
                ORDER BY lead_timestamp DESC, id DESC LIMIT $5)
               UNION ALL
               (SELECT * FROM lead_events
                WHERE $6 AND program_id = $1 AND is_test AND lead_timestamp >= $2 AND lead_timestamp <= $3
                  AND (lead_timestamp < $3 OR id < $4)
                ORDER BY lead_timestamp DESC, id DESC LIMIT $5)
               ORDER BY lead_timestamp DESC, id DESC LIMIT $5
           ) e
           LEFT JOIN customers c ON c.id = e.customer_id
           ORDER BY e.lead_timestamp DESC, e.id DESC"#,
        read.program_id.get(),
        read.from,
        read.before.timestamp,
        read.before.id,
        read.limit,
        read.with_tests,
    )
    .fetch_all(connection)
    .await?;
    Ok(rows
        .into_iter()
        .map(|row| ListedEvent {
            id: row.id,
            timestamp: row.timestamp,
            customer_id: row.customer_id,
            click_id: row.click_id,
            created_at: row.created_at,
            is_test: row.is_test,
            details: EventDetails::Lead(LeadDetails {
                customer_key: row.customer_key,
                session_id: row.session_id,
                page_url: row.page_url,
                converted: row.converted,
            }),
        })
        .collect())
}

async fn conversions(connection: &mut PgConnection, read: &EventRead) -> StorageResult<Vec<ListedEvent>> {
    let rows = sqlx::query!(
        r#"SELECT e.id AS "id!", e.sale_date AS "timestamp!", e.customer_id AS "customer_id?", c.click_id AS "click_id?", e.created_at AS "created_at!",
                  e.is_test AS "is_test!", e.amount_cents AS "amount_cents!", e.currency AS "currency!",
                  e.sale_type AS "sale_type!", e.payment_status AS "payment_status!",
                  e.processor_event_id AS "processor_event_id!", e.is_recurring AS "is_recurring!"
           FROM (
               (SELECT * FROM sale_events
                WHERE program_id = $1 AND NOT is_test AND duplicate_of IS NULL AND sale_date >= $2 AND sale_date <= $3
                  AND (sale_date < $3 OR id < $4)
                ORDER BY sale_date DESC, id DESC LIMIT $5)
               UNION ALL
               (SELECT * FROM sale_events
                WHERE $6 AND program_id = $1 AND is_test AND sale_date >= $2 AND sale_date <= $3
                  AND (sale_date < $3 OR id < $4)
                ORDER BY sale_date DESC, id DESC LIMIT $5)
               ORDER BY sale_date DESC, id DESC LIMIT $5
           ) e
           LEFT JOIN customers c ON c.id = e.customer_id
           ORDER BY e.sale_date DESC, e.id DESC"#,
        read.program_id.get(),
        read.from,
        read.before.timestamp,
        read.before.id,
        read.limit,
        read.with_tests,
    )
    .fetch_all(connection)
    .await?;
    Ok(rows
        .into_iter()
        .map(|row| ListedEvent {
            id: row.id,
            timestamp: row.timestamp,
            customer_id: row.customer_id,
            click_id: row.click_id,
            created_at: row.created_at,
            is_test: row.is_test,
            details: EventDetails::Conversion(ConversionDetails {
                amount_cents: row.amount_cents,
                currency: row.currency,
                sale_type: row.sale_type,
                payment_status: row.payment_status,
                processor_event_id: row.processor_event_id,
                is_recurring: row.is_recurring,
            }),
        })
        .collect())
}
