//! `GET …/affiliate-programs/{program_id}/events/export`: the list as a file.

use axum::response::Response;
use domain::ids::ProgramId;
use domain::program_events::EventPlace;
use storage::program_events::{self, Filter, PageRead};
use storage::snapshot;

use super::question::{self, ProgramEventsQuery, refusals};
use super::reader;
use super::view::ProgramEventView;
use crate::management::prelude::*;
use crate::management::reports::event_file::{FORMATS, Format, FormatQuery, Lines, PIECE, download};
use crate::management::workspace_limit::WorkspacePermit;

/// Download clicks, leads, sales and refunds
///
/// All that the list has with these filters, in its order and with its columns. An answer that breaks off is not the whole file.
#[utoipa::path(
    get,
    path = "/api/advertiser/affiliate-programs/{program_id}/events/export",
    operation_id = "export_program_events",
    params(FormatQuery, ProgramEventsQuery),
    responses(
        (
            status = 200,
            description = "The file. Text that a spreadsheet would take for a formula begins with an apostrophe in CSV.",
            content((String = "text/csv"), (String = "application/x-ndjson"))
        ),
        (status = 503, description = "Too many downloads at once.", body = PlatformError),
    )
)]
pub async fn export(
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
    let lines = EventLines {
        app,
        program_id,
        filter,
        with_commissions,
        after: None,
        is_whole: false,
        _permit: permit,
    };
    download(format, &format!("events-{program_id}"), lines).await
}

/// The events that are still to be sent.
struct EventLines {
    app: App,
    program_id: ProgramId,
    filter: Filter,
    with_commissions: bool,
    after: Option<EventPlace>,
    /// Everything was read.
    is_whole: bool,
    _permit: WorkspacePermit,
}

impl Lines for EventLines {
    type Line = ProgramEventView;

    async fn piece(&mut self) -> Result<Vec<ProgramEventView>, ApiError> {
        let mut events = Vec::new();
        // A filter may pass none of the events of a piece.
        while events.is_empty() && !self.is_whole {
            if self.app.closing.is_cancelled() {
                return Err(ApiError::Overloaded);
            }
            let read = PageRead {
                program_id: self.program_id,
                filter: &self.filter,
                after: self.after,
                limit: i64::try_from(PIECE).unwrap_or(i64::MAX),
                with_commissions: self.with_commissions,
            };
            let mut connection = self.app.reads.acquire().await?;
            let mut snapshot = snapshot::begin(&mut connection).await?;
            let page = program_events::page(&mut snapshot, &read).await?;
            self.after = page.next;
            self.is_whole = page.next.is_none();
            events = page.events;
        }
        Ok(events.into_iter().map(ProgramEventView::from).collect())
    }
}

pub fn examples() -> Examples {
    Examples::of_refusals(refusals())
        .refusal(&FORMATS)
        .refusal(&ApiError::Overloaded)
}
