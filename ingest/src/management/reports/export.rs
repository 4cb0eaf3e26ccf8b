//! `GET /api/tracking/events/{program_id}/export`: a program's events as a file.

use axum::response::Response;
use domain::ids::ProgramId;
use domain::people::permission::Permission;
use storage::reads::program_events::Filter;

use super::dates::{REVERSED, Span};
use super::event_file::{EventLines, FORMATS, Format, download};
use super::event_view::{EventView, event_types};
use super::events::EventsQuery;
use crate::http::query::Query;
use crate::management::access::AdvertiserUser;
use crate::management::answers::Ids;
use crate::management::prelude::*;

/// Download a program's events
///
/// All events of the dates, newest first, without test events. An answer that breaks off is not the whole file.
#[utoipa::path(
    get,
    path = "/api/tracking/events/{program_id}/export",
    params(
        (
            "format" = Option<String>, Query, example = "ndjson",
            description = "`csv` unless said otherwise, or `ndjson`: a JSON object a line, as the list has them.",
        ),
        EventsQuery,
    ),
    responses(
        (
            status = 200,
            description = "The file. Text that a spreadsheet would take for a formula begins with an apostrophe in CSV.",
            content((String = "text/csv"), (String = "application/x-ndjson"))
        ),
        (status = 503, description = "Too many downloads at once.", body = PlatformError),
    ),
    extensions(("x-refusals" = json!([FORMATS, REVERSED, ApiError::Overloaded]))),
)]
pub async fn export_events(
    State(app): State<App>,
    user: AdvertiserUser,
    Ids(program_id): Ids<ProgramId>,
    query: Query,
) -> Result<Response, ApiError> {
    let access = user.permitted(&app, program_id, Permission::TrackingList).await?;
    user.user.just_proved(&app)?;
    let format = Format::of(&query)?;
    let types = event_types(&query)?;
    let span = Span::of(&query)?;
    let permit = app.reads.export(access.workspace_id)?;
    let filter = Filter::of_types(types, span.from, span.until);
    let lines = EventLines::new(app, program_id, filter, false, permit, EventView::of);
    download(format, &format!("events-{program_id}"), lines).await
}
