//! In-app notifications of partners and advertisers.

use chrono::{DateTime, Utc};
use serde_json::Value;
use sqlx::PgConnection;
use uuid::Uuid;

use crate::error::StorageResult;
use crate::page::{Whole, Window, page};
use domain::ids::{ProgramId, UserId};

#[derive(Debug)]
pub struct NewNotification {
    pub event_id: Uuid,
    pub program_id: i64,
    /// `None` addresses the advertiser.
    pub partner_id: Option<i64>,
    pub kind: &'static str,
    pub message: String,
    pub details: Value,
}

/// Stores a batch. Notifications that are already stored stay as they are.
pub async fn add(connection: &mut PgConnection, notifications: &[NewNotification]) -> StorageResult<()> {
    write_batch!(
        connection,
        "INSERT INTO notifications (event_id, program_id, recipient, partner_id, kind, message, details)
         SELECT event_id, program_id, CASE WHEN partner_id IS NULL THEN 'advertiser' ELSE 'partner' END,
                partner_id, kind, message, details
         FROM UNNEST($1::uuid[], $2::bigint[], $3::bigint[], $4::text[], $5::text[], $6::jsonb[])
              AS n (event_id, program_id, partner_id, kind, message, details)
         ON CONFLICT (event_id) DO NOTHING",
        new in notifications =>
            events: Uuid = new.event_id,
            programs: i64 = new.program_id,
            partners: Option<i64> = new.partner_id,
            kinds: &str = new.kind,
            messages: &str = new.message.as_str(),
            details: &Value = &new.details
    );
    Ok(())
}

#[derive(Debug)]
pub struct StoredNotification {
    pub id: i64,
    pub program_id: i64,
    pub kind: String,
    pub message: String,
    pub details: Value,
    pub read_at: Option<DateTime<Utc>>,
    pub created_at: DateTime<Utc>,
}

/// Selects the notifications of a user to mark. Other users' ids match nothing.
#[derive(Debug, Clone, Copy)]
pub enum Which<'a> {
    All,
    Ids(&'a [i64]),
}

impl<'a> Which<'a> {
    const fn ids(self) -> Option<&'a [i64]> {
        match self {
            Self::All => None,
            Self::Ids(ids) => Some(ids),
        }
    }
}

/// Notifications of a program's advertiser, newest first, and the total number.
pub async fn of_program(
    connection: &mut PgConnection,
    program_id: ProgramId,
    unread_only: bool,
    window: Window,
) -> StorageResult<(Vec<StoredNotification>, Whole)> {
    Ok(page!(
        connection,
        window,
        StoredNotification,
        select "SELECT id, program_id, kind, message, details, read_at, created_at",
        of "FROM notifications
            WHERE program_id = $1 AND recipient = 'advertiser' AND NOT ($2 AND read_at IS NOT NULL) AND id <= $3",
        order "id DESC",
        part "OFFSET $4 LIMIT $5",
        whole r#"SELECT count(*) AS "count!", max(id) AS up_to"#,
        program_id.get(),
        unread_only,
    ))
}

/// A partner's notifications in all workspaces, newest first, and the total number.
pub async fn of_partner(
    connection: &mut PgConnection,
    user_id: UserId,
    unread_only: bool,
    window: Window,
) -> StorageResult<(Vec<StoredNotification>, Whole)> {
    Ok(page!(
        connection,
        window,
        StoredNotification,
        select "SELECT id, program_id, kind, message, details, read_at, created_at",
        of "FROM notifications
            WHERE partner_id = ANY(ARRAY(SELECT p.id FROM partners p WHERE p.user_id = $1))
              AND NOT ($2 AND read_at IS NOT NULL) AND id <= $3",
        order "id DESC",
        part "OFFSET $4 LIMIT $5",
        whole r#"SELECT count(*) AS "count!", max(id) AS up_to"#,
        user_id.get(),
        unread_only,
    ))
}

/// Marks notifications of a program's advertiser as read. Returns how many were unread.
pub async fn mark_read_of_program(
    connection: &mut PgConnection,
    program_id: ProgramId,
    which: Which<'_>,
    now: DateTime<Utc>,
) -> StorageResult<u64> {
    Ok(execute!(
        connection,
        "UPDATE notifications SET read_at = $3
         WHERE program_id = $1 AND recipient = 'advertiser' AND read_at IS NULL
           AND ($2::bigint[] IS NULL OR id = ANY($2))",
        program_id.get(),
        which.ids() as Option<&[i64]>,
        now,
    ))
}

/// Marks a partner's notifications as read. Returns how many were unread.
pub async fn mark_read_of_partner(
    connection: &mut PgConnection,
    user_id: UserId,
    which: Which<'_>,
    now: DateTime<Utc>,
) -> StorageResult<u64> {
    Ok(execute!(
        connection,
        "UPDATE notifications SET read_at = $3
         WHERE partner_id = ANY(ARRAY(SELECT p.id FROM partners p WHERE p.user_id = $1)) AND read_at IS NULL
           AND ($2::bigint[] IS NULL OR id = ANY($2))",
        user_id.get(),
        which.ids() as Option<&[i64]>,
        now,
    ))
}
