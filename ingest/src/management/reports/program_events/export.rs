//! `GET …/affiliate-programs/{program_id}/events/export`: the list as a file.

use axum::response::Response;
use domain::ids::ProgramId;

use super::question::{self, ProgramEventsQuery, TESTS_ARE_NOBODYS};
use super::reader;
use super::view::ProgramEventView;
use crate::http::query::Query;
use crate::management::access::AdvertiserUser;
use crate::management::answers::Ids;
use crate::management::prelude::*;
use crate::management::reports::dates::FROM_AFTER_TO;
use crate::management::reports::event_file::{EventLines, FORMATS, Format, download};

/// Download clicks, leads, sales and refunds
///
/// All that the list has with these filters, in its order and with its columns. An answer that breaks off is not the whole file.
#[utoipa::path(
    get,
    path = "/api/advertiser/affiliate-programs/{program_id}/events/export",
    params(
        (
            "format" = Option<String>, Query, example = "ndjson",
            description = "`csv` unless said otherwise, or `ndjson`: a JSON object a line, as the list has them.",
        ),
        ProgramEventsQuery,
    ),
    responses(
        (
            status = 200,
            description = "The file. Text that a spreadsheet would take for a formula begins with an apostrophe in CSV.",
            content((String = "text/csv"), (String = "application/x-ndjson"))
        ),
        (status = 503, description = "Too many downloads at once.", body = PlatformError),
    ),
    extensions(("x-refusals" = json!([FROM_AFTER_TO, TESTS_ARE_NOBODYS, FORMATS, ApiError::Overloaded]))),
)]
pub async fn export_program_events(
    State(app): State<App>,
    user: AdvertiserUser,
    Ids(program_id): Ids<ProgramId>,
    query: Query,
) -> Result<Response, ApiError> {
    let (access, with_commissions) = reader(&app, &user, program_id).await?;
    user.user.just_proved(&app)?;
    let format = Format::of(&query)?;
    let permit = app.reads.export(access.workspace_id)?;
    let filter = {
        let mut connection = app.reads.acquire().await?;
        question::filter(&app, &mut connection, program_id, &query).await?
    };
    let view = |event| Some(ProgramEventView::from(event));
    let lines = EventLines::new(app, program_id, filter, with_commissions, permit, view);
    download(format, &format!("events-{program_id}"), lines).await
}
