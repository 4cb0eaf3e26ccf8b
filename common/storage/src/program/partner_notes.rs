//! `partner_notes`: an advertiser's notes about a partner in a program.

use chrono::{DateTime, Utc};
use sqlx::PgConnection;

use crate::error::StorageResult;
use domain::ids::{PartnerId, PartnerProgramId};
use domain::programs::partner::PartnerNote;

#[derive(Debug)]
pub struct StoredNote {
    pub text: String,
    pub updated_at: DateTime<Utc>,
}

pub async fn find(
    connection: &mut PgConnection,
    membership: PartnerProgramId,
) -> StorageResult<Option<StoredNote>> {
    Ok(fetch_optional!(
        connection,
        StoredNote,
        "SELECT text, updated_at FROM partner_notes WHERE partner_program_id = $1",
        membership.get(),
    ))
}

pub async fn write(
    connection: &mut PgConnection,
    membership: PartnerProgramId,
    partner_id: PartnerId,
    note: &PartnerNote,
    now: DateTime<Utc>,
) -> StorageResult<()> {
    execute!(
        connection,
        "INSERT INTO partner_notes (partner_program_id, partner_id, text, updated_at) VALUES ($1, $2, $3, $4)
         ON CONFLICT (partner_program_id) DO UPDATE SET text = excluded.text, updated_at = excluded.updated_at",
        membership.get(),
        partner_id.get(),
        note.as_str(),
        now,
    );
    Ok(())
}

pub async fn remove(connection: &mut PgConnection, membership: PartnerProgramId) -> StorageResult<()> {
    execute!(
        connection,
        "DELETE FROM partner_notes WHERE partner_program_id = $1",
        membership.get(),
    );
    Ok(())
}
