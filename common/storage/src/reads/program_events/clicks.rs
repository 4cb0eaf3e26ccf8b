//! Clicks of the list.

use sqlx::PgConnection;

use super::{ClickDetails, ProgramEvent, ProgramEventDetails, Span, event};
use crate::error::StorageResult;

/// Reads clicks: `head` has the conditions, `tail` closes it. The limit applies after a sort in index order.
macro_rules! clicks {
    ($connection:expr, $span:expr, $head:literal, $tail:literal $(, $more:expr)?) => {
        sqlx::query!(
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
        .map(|row| event!(row, row.is_test, ProgramEventDetails::Click(ClickDetails {
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
        })))
        .fetch_all($connection)
        .await?
    };
}

pub(super) async fn read(connection: &mut PgConnection, span: &Span<'_>) -> StorageResult<Vec<ProgramEvent>> {
    let filter = span.filter;
    Ok(if let Some(subjects) = &filter.subjects {
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
    })
}

/// Clicks have no index by customer. The customer's row has the times of the first click and of the latest
/// hundred. A separate index has the clicks that do not count.
async fn of_customers(
    connection: &mut PgConnection,
    span: &Span<'_>,
    customers: &[i64],
) -> StorageResult<Vec<ProgramEvent>> {
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
