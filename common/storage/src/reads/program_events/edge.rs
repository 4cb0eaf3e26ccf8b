//! Where a walk ends.

use chrono::{DateTime, Utc};
use sqlx::PgConnection;

use super::Span;
use crate::error::StorageResult;
use domain::reports::program_events::ProgramEventType;

/// Maximum number of clicks in one walk. A click needs no other rows.
const CLICKS_OF_A_WALK: i64 = 10_000;
/// Maximum number of leads, sales or refunds in one walk. Each needs its customer, or sale and commissions.
const OTHERS_OF_A_WALK: i64 = 2_000;

/// The time of the last row of a walk that starts at the top of the span; `None` when the span is shorter.
pub(super) async fn edge(
    connection: &mut PgConnection,
    span: &Span<'_>,
    event_type: ProgramEventType,
) -> StorageResult<Option<DateTime<Utc>>> {
    macro_rules! edge {
        ($time:literal, $from:literal, $rows:expr) => {
            fetch_optional_scalar!(
                connection,
                "SELECT "
                    + $time
                    + r#" AS "at!" FROM "#
                    + $from
                    + " AND "
                    + $time
                    + " >= $2 AND "
                    + $time
                    + " <= $3 ORDER BY "
                    + $time
                    + " DESC OFFSET $4 LIMIT 1",
                span.program_id.get(),
                span.from,
                span.latest(),
                $rows,
            )
        };
    }
    Ok(match (event_type, &span.filter.links) {
        (ProgramEventType::Click, Some(links)) => edge_of_links(connection, span, links).await?,
        (ProgramEventType::Click, None) => edge!(
            "click_timestamp",
            "click_events WHERE program_id = $1 AND NOT is_test",
            CLICKS_OF_A_WALK
        ),
        (ProgramEventType::Lead, _) => edge!(
            "lead_timestamp",
            "lead_events WHERE program_id = $1 AND NOT is_test",
            OTHERS_OF_A_WALK
        ),
        (ProgramEventType::Sale, _) => edge!(
            "sale_date",
            "sale_events WHERE program_id = $1 AND NOT is_test",
            OTHERS_OF_A_WALK
        ),
        (ProgramEventType::Refund, _) => {
            edge!("refunded_at", "refunds WHERE program_id = $1", OTHERS_OF_A_WALK)
        }
    })
}

/// The time of the last click of a walk over these links.
async fn edge_of_links(
    connection: &mut PgConnection,
    span: &Span<'_>,
    links: &[i64],
) -> StorageResult<Option<DateTime<Utc>>> {
    Ok(fetch_optional_scalar!(
        connection,
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
    ))
}
