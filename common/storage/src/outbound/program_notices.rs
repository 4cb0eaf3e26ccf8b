//! `program_notices`: problems of a program that its members must handle. Each is e-mailed once, and a
//! program's members get at most one notice a day.

use std::collections::BTreeMap;

use chrono::{DateTime, TimeDelta, Utc};
use sqlx::PgConnection;

use crate::error::StorageResult;
use domain::ids::{ProgramId, WebhookEndpointId};
use domain::people::account::EmailAddress;
use domain::programs::webhook_endpoint::DisabledReason;

/// Minimum time between two notices of a program.
const ONE_EACH: TimeDelta = TimeDelta::days(1);
/// A processor event is reported once it is this old, together with the later ones.
const GATHERED: TimeDelta = TimeDelta::minutes(10);

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NoticedEndpoint {
    pub endpoint_id: WebhookEndpointId,
    pub url: String,
    pub reason: DisabledReason,
}

/// Problems of a program since its previous notice.
#[derive(Debug)]
pub struct ProgramNotice {
    pub program_id: ProgramId,
    pub program: String,
    /// Members who see the program's notifications, have a verified address, and want these e-mails.
    pub recipients: Vec<EmailAddress>,
    pub endpoints: Vec<NoticedEndpoint>,
    /// Events of the payment processor that a person must decide about.
    pub to_review: i64,
    /// Events that could not be processed.
    pub stuck: i64,
}

/// Takes the due problems of at most `limit` programs, in one transaction with the e-mails. Concurrent calls
/// are serialised: the second finds the notice of the first.
pub async fn take(
    connection: &mut PgConnection,
    now: DateTime<Utc>,
    limit: i64,
) -> StorageResult<Vec<ProgramNotice>> {
    let programs = due_programs(connection, now, limit).await?;
    if programs.is_empty() {
        return Ok(Vec::new());
    }
    let mut endpoints = take_endpoints(connection, &programs, now).await?;
    let mut events = take_events(connection, &programs, now).await?;
    let mut recipients = recipients(connection, &programs).await?;
    Ok(sqlx::query!(
        "SELECT id, name FROM programs WHERE id = ANY($1) ORDER BY id",
        &programs
    )
    .map(|row| {
        let (to_review, stuck) = events.remove(&row.id).unwrap_or_default();
        ProgramNotice {
            program_id: ProgramId::new(row.id),
            program: row.name,
            recipients: recipients.remove(&row.id).unwrap_or_default(),
            endpoints: endpoints.remove(&row.id).unwrap_or_default(),
            to_review,
            stuck,
        }
    })
    .fetch_all(connection)
    .await?)
}

/// Marks and returns the programs whose notice is due, ascending.
async fn due_programs(
    connection: &mut PgConnection,
    now: DateTime<Utc>,
    limit: i64,
) -> StorageResult<Vec<i64>> {
    Ok(fetch_scalars!(
        connection,
        "INSERT INTO program_notices AS n (program_id, written_at)
         SELECT c.program_id, $1
         FROM (SELECT program_id FROM processor_events
               WHERE state IN ('review', 'stuck') AND noticed_at IS NULL AND program_id IS NOT NULL AND received_at <= $3
               UNION
               SELECT program_id FROM webhook_endpoints
               WHERE disabled_reason IN ('gone', 'failing') AND (noticed_at IS NULL OR noticed_at < disabled_at)) c
         WHERE NOT EXISTS (SELECT FROM program_notices b WHERE b.program_id = c.program_id AND b.written_at > $2)
         ORDER BY c.program_id LIMIT $4
         ON CONFLICT (program_id) DO UPDATE SET written_at = excluded.written_at WHERE n.written_at <= $2
         RETURNING program_id",
        now,
        now - ONE_EACH,
        now - GATHERED,
        limit,
    ))
}

async fn take_endpoints(
    connection: &mut PgConnection,
    programs: &[i64],
    now: DateTime<Utc>,
) -> StorageResult<BTreeMap<i64, Vec<NoticedEndpoint>>> {
    let rows = fetch_all!(
        connection,
        r#"UPDATE webhook_endpoints SET noticed_at = greatest($2, disabled_at)
           WHERE program_id = ANY($1) AND disabled_reason IN ('gone', 'failing') AND (noticed_at IS NULL OR noticed_at < disabled_at)
           RETURNING id AS "id: WebhookEndpointId", program_id, url, disabled_reason AS "reason!: DisabledReason""#,
        programs,
        now,
    );
    let mut endpoints: BTreeMap<i64, Vec<NoticedEndpoint>> = BTreeMap::new();
    for row in rows {
        endpoints
            .entry(row.program_id)
            .or_default()
            .push(NoticedEndpoint {
                endpoint_id: row.id,
                url: row.url,
                reason: row.reason,
            });
    }
    for of_program in endpoints.values_mut() {
        of_program.sort_by_key(|endpoint| endpoint.endpoint_id);
    }
    Ok(endpoints)
}

/// Numbers of events to review and of stuck events, by program.
async fn take_events(
    connection: &mut PgConnection,
    programs: &[i64],
    now: DateTime<Utc>,
) -> StorageResult<BTreeMap<i64, (i64, i64)>> {
    let rows = fetch_all!(
        connection,
        r#"WITH noticed AS (
               UPDATE processor_events SET noticed_at = $2
               WHERE program_id = ANY($1) AND state IN ('review', 'stuck') AND noticed_at IS NULL
               RETURNING program_id, state
           )
           SELECT program_id AS "program_id!", count(*) FILTER (WHERE state = 'review') AS "to_review!",
                  count(*) FILTER (WHERE state = 'stuck') AS "stuck!"
           FROM noticed GROUP BY program_id"#,
        programs,
        now,
    );
    Ok(rows
        .into_iter()
        .map(|row| (row.program_id, (row.to_review, row.stuck)))
        .collect())
}

/// Recipients by program: members who may read the program.
async fn recipients(
    connection: &mut PgConnection,
    programs: &[i64],
) -> StorageResult<BTreeMap<i64, Vec<EmailAddress>>> {
    let rows = fetch_all!(
        connection,
        "SELECT p.id AS program_id, u.email
         FROM programs p
         JOIN workspace_members m ON m.workspace_id = p.workspace_id
         JOIN users u ON u.id = m.user_id AND u.status = 'active' AND u.verified_at IS NOT NULL AND u.program_notices
         LEFT JOIN member_permissions g ON g.member_id = m.id AND g.program_id = p.id
         WHERE p.id = ANY($1) AND (m.role IN ('owner', 'admin') OR g.permissions && ARRAY['program:read', 'program:*'])
         ORDER BY p.id, u.id",
        programs,
    );
    let mut recipients: BTreeMap<i64, Vec<EmailAddress>> = BTreeMap::new();
    for row in rows {
        // An address that only an earlier version's rules accepted gets no notice.
        if let Ok(address) = EmailAddress::parse(&row.email) {
            recipients.entry(row.program_id).or_default().push(address);
        }
    }
    Ok(recipients)
}
