//! `…/affiliate-programs/{program_id}/notifications`: notifications for a program's advertiser.

use storage::operations::notifications;

use crate::http::query::Query;
use crate::management::access::right::{CleanUp, Read};
use crate::management::access::{ListProgram, WriteProgram};
use crate::management::answers::{List, Listed, PageQuery};
use crate::management::notices::{MarkReadRequest, MarkedRead, NEITHER_OR_BOTH, NotificationView};
use crate::management::prelude::*;

/// List notifications
///
/// The advertiser's, newest first.
#[utoipa::path(
    get,
    path = "/api/advertiser/affiliate-programs/{program_id}/notifications",
    params(
        ("unread" = Option<bool>, Query, description = "`true`: only those that have not been read."),
        PageQuery,
    ),
    responses((status = 200, description = "A page of them.", body = Listed<NotificationView>)),
    extensions(("x-refusals" = json!([ApiError::bad_request("unread must be true or false")]))),
)]
pub async fn list_notifications(mut list: ListProgram<Read>, query: Query) -> List<NotificationView> {
    let unread = query.flag("unread")?;
    let found = notifications::of_program(&mut list.db, list.program_id, unread, list.page.window()).await?;
    Ok(list.page.listed(found))
}

/// Mark notifications as read
///
/// For everybody who looks after the program.
#[utoipa::path(
    post,
    path = "/api/advertiser/affiliate-programs/{program_id}/notifications/read",
    request_body = MarkReadRequest,
    responses((status = 200, description = "Read.", body = Data<MarkedRead>)),
    extensions(("x-refusals" = json!([NEITHER_OR_BOTH]))),
)]
pub async fn mark_notifications_read(mut write: WriteProgram<CleanUp>) -> Answer<MarkedRead> {
    let program_id = write.on.ids;
    let wanted = write.body().json::<MarkReadRequest>()?.wanted()?;
    let now = write.now();
    let marked = notifications::mark_read_of_program(&mut write.db, program_id, wanted.which(), now).await?;
    write.answer(data(MarkedRead { marked })).await
}
