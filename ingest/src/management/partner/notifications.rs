//! `/api/partner/notifications`: notifications for a partner.

use storage::operations::notifications;

use crate::http::body::RequestBody;
use crate::http::query::Query;
use crate::management::access::{ListForPartner, PartnerUser};
use crate::management::answers::{List, Listed, PageQuery};
use crate::management::notices::{MarkReadRequest, MarkedRead, NEITHER_OR_BOTH, NotificationView};
use crate::management::prelude::*;

/// List a partner's notifications
///
/// Newest first, of all their programs.
#[utoipa::path(
    get,
    path = "/api/partner/notifications",
    params(
        ("unread" = Option<bool>, Query, description = "`true`: only those that have not been read."),
        PageQuery,
    ),
    responses((status = 200, description = "A page of them.", body = Listed<NotificationView>)),
    extensions(("x-refusals" = json!([ApiError::bad_request("unread must be true or false")]))),
)]
pub async fn list_partner_notifications(mut list: ListForPartner, query: Query) -> List<NotificationView> {
    let unread = query.flag("unread")?;
    let (user_id, window) = (list.session.user.user_id, list.page.window());
    let (rows, total) = notifications::of_partner(&mut list.db, user_id, unread, window).await?;
    Ok(list
        .page
        .listed((rows.into_iter().map(NotificationView::of_partner), total)))
}

/// Mark a partner's notifications as read
#[utoipa::path(
    post,
    path = "/api/partner/notifications/read",
    request_body = MarkReadRequest,
    responses((status = 200, description = "Read.", body = Data<MarkedRead>)),
    extensions(("x-refusals" = json!([NEITHER_OR_BOTH]))),
)]
pub async fn mark_partner_notifications_read(
    State(app): State<App>,
    partner: PartnerUser,
    body: RequestBody,
) -> Answer<MarkedRead> {
    let wanted = body.json::<MarkReadRequest>()?.wanted()?;
    let mut connection = app.management.acquire().await?;
    let (user_id, now) = (partner.user.user_id, app.clock.now());
    let marked = notifications::mark_read_of_partner(&mut connection, user_id, wanted.which(), now).await?;
    Ok(data(MarkedRead { marked }))
}
