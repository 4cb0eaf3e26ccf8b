//! Clicks of the list.

use chrono::{DateTime, Utc};
use sqlx::PgConnection;

use super::{CLICKS_OF_A_WALK, ClickDetails, CreditedLink, ProgramEvent, ProgramEventDetails, Span};
use crate::error::StorageResult;

struct ClickRow {
    id: i64,
    timestamp: DateTime<Utc>,
    created_at: DateTime<Utc>,
    is_test: bool,
    customer_id: Option<i64>,
    click_id: Option<String>,
    customer_key: Option<String>,
    session_id: Option<String>,
    page_url: Option<String>,
    referrer_url: Option<String>,
    geo_country: Option<String>,
    geo_region: Option<String>,
    geo_city: Option<String>,
    device_type: Option<String>,
    device_os: Option<String>,
    browser_name: Option<String>,
    converted: bool,
    link_code: Option<String>,
    partner_program_id: Option<i64>,
    partner_id: Option<i64>,
    partner_name: Option<String>,
}

/// Reads clicks: `head` selects them up to its last condition, and `tail` closes it. The limit applies after
/// a sort in index order.
macro_rules! clicks {
    ($connection:expr, $span:expr, $head:literal, $tail:literal $(, $more:expr)?) => {
        sqlx::query_as!(
            ClickRow,
            r#"SELECT e.id AS "id!", e.click_timestamp AS "timestamp!", e.created_at AS "created_at!", e.is_test AS "is_test!",
                      e.customer_id AS "customer_id?", e.click_id AS "click_id?", c.customer_key AS "customer_key?", e.session_id AS "session_id?",
                      e.page_url AS "page_url?", e.referrer_url AS "referrer_url?", e.geo_country AS "geo_country?",
                      e.geo_region AS "geo_region?", e.geo_city AS "geo_city?", e.device_type AS "device_type?",
                      e.device_os AS "device_os?", e.browser_name AS "browser_name?",
                      coalesce(c.status = 'conversion', false) AS "converted!", l.short_code AS "link_code?",
                      l.partner_program_id AS "partner_program_id?", l.partner_id AS "partner_id?", p.name AS "partner_name?"
               FROM ("# + $head + r#"
                     AND click_timestamp >= $2 AND click_timestamp <= $3 AND (click_timestamp < $3 OR id < $4)
                     AND ($6::text IS NULL OR geo_country = $6) AND ($7::text IS NULL OR device_type = $7)
                     AND ($8::text IS NULL
                          -- As domain::breakdown::referring_host has it. Most are not like it at all, which is seen sooner.
                          OR strpos(lower(referrer_url), $8) > 0 AND rtrim(substring(lower(referrer_url)
                                             FROM '^https?://(?:[^/?#@]*@)?(?:www\.)?(\[[^]]*\]|[^/:?#]+)'), '.') = $8)
                     AND ($9::bigint[] IS NULL OR referral_link_id = ANY($9))
                     ORDER BY click_timestamp DESC, id DESC LIMIT $5"# + $tail + r#") e
               LEFT JOIN customers c ON c.id = e.customer_id
               LEFT JOIN referral_links l ON l.id = e.referral_link_id
               LEFT JOIN partners p ON p.id = l.partner_id
               ORDER BY e.click_timestamp DESC, e.id DESC"#,
            $span.program_id.get(),
            $span.from,
            $span.before.timestamp,
            $span.before.id,
            $span.limit,
            $span.filter.origin.country.as_deref(),
            $span.filter.origin.device.as_deref(),
            $span.filter.origin.source.as_deref(),
            $span.filter.links.as_deref() as Option<&[i64]>
            $(, $more)?
        )
        .fetch_all($connection)
        .await?
    };
}

pub(super) async fn read(connection: &mut PgConnection, span: &Span<'_>) -> StorageResult<Vec<ProgramEvent>> {
    let filter = span.filter;
    let rows = if let Some(subjects) = &filter.subjects {
        of_customers(connection, span, &subjects.customers).await?
    } else if filter.is_test {
        clicks!(
            connection,
            span,
            "SELECT * FROM click_events WHERE program_id = $1 AND is_test",
            ""
        )
    } else if filter.links.is_some() {
        clicks!(
            connection,
            span,
            "SELECT * FROM (SELECT k.* FROM unnest($9::bigint[]) AS n (link_id) CROSS JOIN LATERAL (
                 SELECT * FROM click_events WHERE program_id = $1 AND referral_link_id = n.link_id AND counted AND NOT is_test",
            ") k) k ORDER BY click_timestamp DESC, id DESC LIMIT $5"
        )
    } else {
        clicks!(
            connection,
            span,
            "SELECT * FROM click_events WHERE program_id = $1 AND NOT is_test",
            ""
        )
    };
    Ok(rows.into_iter().map(ProgramEvent::from).collect())
}

/// Clicks have no index by customer. The customer's row has the times of the first click and of the latest
/// hundred. A separate index has the clicks that do not count.
async fn of_customers(
    connection: &mut PgConnection,
    span: &Span<'_>,
    customers: &[i64],
) -> StorageResult<Vec<ClickRow>> {
    Ok(clicks!(
        connection,
        span,
        "SELECT * FROM (SELECT k.*
             FROM (SELECT unnest(first_click_at || touched_at || coalesce(earlier_at, '{}')) AS at FROM customers
                   WHERE id = ANY($10) AND program_id = $1
                   UNION SELECT click_timestamp FROM click_events WHERE customer_id = ANY($10) AND NOT counted) n
             CROSS JOIN LATERAL (
                 SELECT * FROM click_events
                 WHERE program_id = $1 AND NOT is_test AND click_timestamp = n.at AND customer_id = ANY($10)
                   AND ($9::bigint[] IS NULL OR counted)",
        ") k) k ORDER BY click_timestamp DESC, id DESC LIMIT $5",
        customers
    ))
}

pub(super) async fn edge(
    connection: &mut PgConnection,
    span: &Span<'_>,
) -> StorageResult<Option<DateTime<Utc>>> {
    let Some(links) = &span.filter.links else {
        let edge = sqlx::query_scalar!(
            r#"SELECT click_timestamp AS "at!" FROM click_events
               WHERE program_id = $1 AND NOT is_test AND click_timestamp >= $2 AND click_timestamp <= $3
               ORDER BY click_timestamp DESC OFFSET $4 LIMIT 1"#,
            span.program_id.get(),
            span.from,
            span.latest(),
            CLICKS_OF_A_WALK,
        )
        .fetch_optional(connection)
        .await?;
        return Ok(edge);
    };
    let edge = sqlx::query_scalar!(
        r#"SELECT k.at AS "at!"
           FROM unnest($1::bigint[]) AS n (link_id) CROSS JOIN LATERAL (
               SELECT click_timestamp AS at FROM click_events
               WHERE referral_link_id = n.link_id AND counted AND NOT is_test AND click_timestamp >= $2 AND click_timestamp <= $3
               ORDER BY click_timestamp DESC LIMIT $4::bigint + 1) k
           ORDER BY k.at DESC OFFSET $4 LIMIT 1"#,
        links,
        span.from,
        span.latest(),
        CLICKS_OF_A_WALK,
    )
    .fetch_optional(connection)
    .await?;
    Ok(edge)
}

impl From<ClickRow> for ProgramEvent {
    fn from(row: ClickRow) -> Self {
        Self {
            id: row.id,
            at: row.timestamp,
            created_at: row.created_at,
            is_test: row.is_test,
            customer_id: row.customer_id,
            click_id: row.click_id,
            customer_key: row.customer_key,
            link: CreditedLink::of(
                row.link_code,
                row.partner_program_id,
                row.partner_id,
                row.partner_name,
            ),
            details: ProgramEventDetails::Click(ClickDetails {
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
        }
    }
}
