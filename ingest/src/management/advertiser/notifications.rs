//! `…/affiliate-programs/{program_id}/notifications`: what a program's advertiser should know.

use axum::extract::State;
use domain::ids::ProgramId;
use domain::permission::Permission;
use storage::notifications;

use crate::app::App;
use crate::http::body::RequestBody;
use crate::http::openapi::envelopes::PlatformError;
use crate::http::query::Query;
use crate::management::access::Advertiser;
use crate::management::answers::{Answer, Data, Ids, List, Listed, Page, PageQuery, data};
use crate::management::notices::{MarkReadRequest, MarkedRead, NotificationView, UnreadQuery};

pub use crate::management::notices::{list_examples, mark_read_examples};

/// List notifications
///
/// The advertiser's, newest first.
#[utoipa::path(
    get,
    path = "/api/advertiser/affiliate-programs/{program_id}/notifications",
    operation_id = "list_notifications",
    params(UnreadQuery, PageQuery),
    responses(
        (status = 200, description = "A page of them.", body = Listed<NotificationView>),
        (status = 400, description = "A parameter is not what it must be.", body = PlatformError),
    )
)]
pub async fn list(
    State(app): State<App>,
    advertiser: Advertiser,
    Ids(program_id): Ids<ProgramId>,
    page: Page,
    query: Query,
) -> List<NotificationView> {
    let mut connection = app.management.acquire().await?;
    advertiser
        .program(&mut connection, program_id, Permission::ProgramRead)
        .await?;
    let unread = query.flag("unread")?;
    let (rows, total) = notifications::of_program(&mut connection, program_id, unread, page.window()).await?;
    Ok(page.listed(rows.into_iter().map(Into::into).collect(), total))
}

/// Mark notifications as read
///
/// For everybody who looks after the program.
#[utoipa::path(
    post,
    path = "/api/advertiser/affiliate-programs/{program_id}/notifications/read",
    operation_id = "mark_notifications_read",
    request_body = MarkReadRequest,
    responses((status = 200, description = "Read.", body = Data<MarkedRead>))
)]
pub async fn mark_read(
    State(app): State<App>,
    advertiser: Advertiser,
    Ids(program_id): Ids<ProgramId>,
    body: RequestBody,
) -> Answer<MarkedRead> {
    let mut connection = app.management.acquire().await?;
    advertiser
        .program(&mut connection, program_id, Permission::ProgramUpdate)
        .await?;
    let wanted = body.json::<MarkReadRequest>()?.wanted()?;
    let now = app.clock.now();
    let marked =
        notifications::mark_read_of_program(&mut connection, program_id, wanted.which(), now).await?;
    Ok(data(MarkedRead { marked }))
}
