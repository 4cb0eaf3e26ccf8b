//! Webhook endpoints as deliveries need them, their health, and which of them the service disables.

use std::collections::HashMap;

use chrono::{DateTime, TimeDelta, Utc};
use sqlx::PgConnection;

use crate::error::StorageResult;
use domain::ids::{ProgramId, WebhookEndpointId};
use domain::programs::webhook::SigningSecret;
use domain::programs::webhook_attempt::{FAILS_FOR, FAILURES_APART};
use domain::programs::webhook_endpoint::DisabledReason;
use domain::sealed::SealingKeys;

/// Precision of the stored times of the last success and the last failure: not every delivery writes them.
const EXACT_TO: TimeDelta = TimeDelta::minutes(1);

/// The URL of an endpoint, and the secrets that sign its deliveries.
#[derive(Debug, Clone)]
pub struct Target {
    pub url: String,
    /// The current secret, and the previous one while both sign. The error is a secret that no key opens.
    pub secrets: Result<Vec<SigningSecret>, Unreadable>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("no key of this installation opens the endpoint's secret")]
pub struct Unreadable;

pub async fn targets(
    connection: &mut PgConnection,
    keys: &SealingKeys,
    ids: &[i64],
    now: DateTime<Utc>,
) -> StorageResult<HashMap<WebhookEndpointId, Target>> {
    let rows = fetch_all!(
        connection,
        "SELECT id, url, secret_sealed, previous_secret_sealed, previous_secret_until FROM webhook_endpoints WHERE id = ANY($1)",
        ids,
    );
    let targets = rows.into_iter().map(|row| {
        let id = WebhookEndpointId::new(row.id);
        let previous = row
            .previous_secret_sealed
            .filter(|_| row.previous_secret_until.is_some_and(|until| now < until));
        let sealed = [Some(row.secret_sealed), previous];
        let secrets = sealed.into_iter().flatten().map(|sealed| open(keys, id, &sealed));
        let target = Target {
            url: row.url,
            secrets: secrets.collect(),
        };
        (id, target)
    });
    Ok(targets.collect())
}

fn open(keys: &SealingKeys, id: WebhookEndpointId, sealed: &[u8]) -> Result<SigningSecret, Unreadable> {
    let opened = keys.open(sealed, &SigningSecret::purpose(id));
    let opened = opened.map_err(|_| Unreadable)?;
    SigningSecret::from_opened(&opened).ok_or(Unreadable)
}

/// The last success and the last failure of an endpoint. Replays do not count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Health {
    pub endpoint_id: WebhookEndpointId,
    pub success_at: Option<DateTime<Utc>>,
    pub failure_at: Option<DateTime<Utc>>,
}

pub async fn note(connection: &mut PgConnection, health: &[Health]) -> StorageResult<()> {
    write_batch!(
        connection,
        "WITH changed AS MATERIALIZED (
             SELECT w.id, h.success_at, h.failure_at
             FROM UNNEST($1::bigint[], $2::timestamptz[], $3::timestamptz[]) AS h (endpoint_id, success_at, failure_at)
             JOIN webhook_endpoints w ON w.id = h.endpoint_id
             WHERE (h.success_at IS NOT NULL
                    AND (w.failing_since IS NOT NULL OR w.last_success_at IS NULL OR w.last_success_at < h.success_at - $4::interval))
                OR (h.failure_at IS NOT NULL
                    AND ((w.failing_since IS NULL AND h.success_at IS NULL)
                         OR w.last_failure_at IS NULL OR w.last_failure_at < h.failure_at - $4::interval))
             ORDER BY w.id FOR NO KEY UPDATE OF w
         )
         UPDATE webhook_endpoints w
         SET failing_since = CASE WHEN c.success_at IS NULL THEN coalesce(w.failing_since, c.failure_at) END,
             last_success_at = greatest(w.last_success_at, c.success_at),
             last_failure_at = greatest(w.last_failure_at, c.failure_at)
         FROM changed c WHERE w.id = c.id",
        one in health =>
            endpoints: i64 = one.endpoint_id.get(),
            successes: Option<DateTime<Utc>> = one.success_at,
            failures: Option<DateTime<Utc>> = one.failure_at;
        interval(EXACT_TO)
    );
    Ok(())
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DisabledEndpoint {
    pub endpoint_id: WebhookEndpointId,
    pub program_id: ProgramId,
    pub url: String,
    pub reason: DisabledReason,
    pub failing_since: Option<DateTime<Utc>>,
    pub disabled_at: DateTime<Utc>,
}

/// Disables endpoints whose receivers answered that they want no more deliveries.
pub async fn disable_gone(
    connection: &mut PgConnection,
    ids: &[i64],
    now: DateTime<Utc>,
) -> StorageResult<Vec<DisabledEndpoint>> {
    Ok(fetch_all!(
        connection,
        DisabledEndpoint,
        r#"UPDATE webhook_endpoints SET disabled_at = $2, disabled_reason = 'gone'
         WHERE id = ANY($1) AND disabled_at IS NULL
         RETURNING id AS endpoint_id, program_id, url, disabled_reason AS "reason!: _", failing_since,
                   disabled_at AS "disabled_at!""#,
        ids,
        now,
    ))
}

/// Disables endpoints that have had no success for [`FAILS_FOR`], with failures at least [`FAILURES_APART`]
/// apart.
pub async fn disable_failing(
    connection: &mut PgConnection,
    now: DateTime<Utc>,
) -> StorageResult<Vec<DisabledEndpoint>> {
    Ok(fetch_all!(
        connection,
        DisabledEndpoint,
        r#"UPDATE webhook_endpoints SET disabled_at = $1, disabled_reason = 'failing'
         WHERE disabled_at IS NULL AND failing_since <= $2 AND last_failure_at >= failing_since + $3::interval
         RETURNING id AS endpoint_id, program_id, url, disabled_reason AS "reason!: _", failing_since,
                   disabled_at AS "disabled_at!""#,
        now,
        now - FAILS_FOR,
        interval(FAILURES_APART),
    ))
}

pub async fn count_disabled(connection: &mut PgConnection) -> StorageResult<Vec<(DisabledReason, i64)>> {
    let rows = fetch_all!(
        connection,
        r#"SELECT disabled_reason AS "reason!: DisabledReason", count(*) AS "count!" FROM webhook_endpoints
           WHERE disabled_reason IS NOT NULL GROUP BY disabled_reason"#
    );
    Ok(rows.into_iter().map(|row| (row.reason, row.count)).collect())
}

fn interval(length: TimeDelta) -> sqlx::postgres::types::PgInterval {
    sqlx::postgres::types::PgInterval {
        months: 0,
        days: 0,
        microseconds: length.num_microseconds().unwrap_or(i64::MAX),
    }
}
