//! `…/partners/{partner_program_id}/note`: the advertiser's note about a partner.

use chrono::{DateTime, Utc};
use domain::ids::{PartnerProgramId, ProgramId};
use domain::programs::partner::PartnerNote;
use messages::instant::as_instant_if_any;
use serde_json::json;
use storage::program::partner_notes::{self, StoredNote};
use storage::program::partners;

use super::partners::stored;
use super::referral_links::UNKNOWN_PARTNER;
use crate::http::field::{Field, refused};
use crate::management::access::right::{Read, Update};
use crate::management::access::{ARCHIVED, ReadProgram, WriteProgram};
use crate::management::prelude::*;

#[derive(Debug, Deserialize, ToSchema)]
pub struct NoteRequest {
    /// Null, empty or not there: the note is removed.
    #[schema(value_type = Option<String>, max_length = 10_000)]
    text: Field<String>,
}

/// Partners never see it.
#[derive(Debug, Default, Serialize, ToSchema)]
pub struct NoteView {
    /// Null when there is none.
    text: Option<String>,
    #[serde(rename = "updatedAt", serialize_with = "as_instant_if_any")]
    updated_at: Option<DateTime<Utc>>,
}

impl From<StoredNote> for NoteView {
    fn from(note: StoredNote) -> Self {
        Self {
            text: Some(note.text),
            updated_at: Some(note.updated_at),
        }
    }
}

/// Read the note about a partner
#[utoipa::path(
    get,
    path = "/api/advertiser/affiliate-programs/{program_id}/partners/{partner_program_id}/note",
    responses((status = 200, description = "The note, if there is one.", body = Data<NoteView>))
)]
pub async fn read_partner_note(
    mut read: ReadProgram<Read, (ProgramId, PartnerProgramId)>,
) -> Answer<NoteView> {
    let (program_id, membership) = read.ids;
    stored(&mut read.db, program_id, membership).await?;
    let note = partner_notes::find(&mut read.db, membership).await?;
    Ok(data(note.map(NoteView::from).unwrap_or_default()))
}

/// Write the note about a partner
///
/// Replaces the one before. The audit log has who wrote it, and not what.
#[utoipa::path(
    put,
    path = "/api/advertiser/affiliate-programs/{program_id}/partners/{partner_program_id}/note",
    request_body = NoteRequest,
    responses((status = 200, description = "As it is now.", body = Data<NoteView>)),
    extensions(("x-refusals" = json!([refused("text", "must be at most 10000 characters"), ARCHIVED]))),
)]
pub async fn write_partner_note(
    mut write: WriteProgram<Update, (ProgramId, PartnerProgramId)>,
) -> Answer<NoteView> {
    let (program_id, membership) = write.on.ids;
    let request: NoteRequest = write.body().json()?;
    let note: Option<PartnerNote> = request.text.text("text")?;
    let partner = partners::lock(&mut write.db, program_id, membership).await?;
    let who = partner.ok_or(UNKNOWN_PARTNER)?.partner.ok_or(UNKNOWN_PARTNER)?;
    let now = write.now();
    match &note {
        Some(note) => {
            partner_notes::write(&mut write.db, membership, who.partner_id, note, now).await?;
        }
        None => partner_notes::remove(&mut write.db, membership).await?,
    }
    // The audit log is never erased, so it does not contain the note's text.
    write.audit("partner.note_written", membership.get(), json!({}));
    let after = partner_notes::find(&mut write.db, membership).await?;
    write.commit().await?;
    Ok(data(after.map(NoteView::from).unwrap_or_default()))
}
