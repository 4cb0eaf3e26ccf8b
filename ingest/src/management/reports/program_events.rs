//! `GET …/affiliate-programs/{program_id}/events` and `…/events/export`: a program's clicks, leads, sales and
//! refunds as one list.

pub mod export;
pub mod list;
pub mod question;
pub mod view;

use domain::ids::ProgramId;
use domain::people::permission::Permission;

use crate::management::access::{AdvertiserUser, ProgramAccess};
use crate::management::prelude::*;

/// The program, for a user who may list its events, and whether the user may also see commissions.
pub async fn reader(
    app: &App,
    user: &AdvertiserUser,
    program_id: ProgramId,
) -> Result<(ProgramAccess, bool), ApiError> {
    let mut connection = app.management.acquire().await?;
    let (list, read) = (Permission::TrackingList, Permission::ProgramRead);
    user.program_and(&mut connection, program_id, list, read).await
}
