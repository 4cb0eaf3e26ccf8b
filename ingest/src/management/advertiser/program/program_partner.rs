//! Looks up a partner's membership in a program.

use domain::ids::{PartnerProgramId, ProgramId};
use sqlx::PgConnection;
use storage::program::partners::{self, ProgramPartner};

use crate::management::prelude::*;

/// The refusal of a membership that the program does not have.
pub const UNKNOWN_PARTNER: ApiError = ApiError::NotFound("Partner not found");

pub async fn stored(
    connection: &mut PgConnection,
    program_id: ProgramId,
    membership: PartnerProgramId,
) -> Result<ProgramPartner, ApiError> {
    partners::find(connection, program_id, membership)
        .await?
        .ok_or(UNKNOWN_PARTNER)
}
