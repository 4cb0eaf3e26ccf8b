//! `GET …/affiliate-programs/{program_id}/events` and `…/events/export`: a program's clicks, leads, sales and refunds as one list.

pub mod export;
pub mod list;
pub mod question;
pub mod view;

use domain::ids::ProgramId;
use domain::permission::Permission;
use sqlx::PgConnection;

use crate::management::prelude::*;

/// The program, for whoever may list its events; and whether they are also shown what was earned.
pub async fn reader(
    user: &AdvertiserUser,
    connection: &mut PgConnection,
    program_id: ProgramId,
) -> Result<(ProgramAccess, bool), ApiError> {
    let access = user
        .program(connection, program_id, Permission::TrackingList)
        .await?;
    let earnings = user
        .program(connection, program_id, Permission::ProgramRead)
        .await;
    match earnings {
        Ok(_) => Ok((access, true)),
        Err(ApiError::Forbidden(_)) => Ok((access, false)),
        Err(error) => Err(error),
    }
}
