//! `GET /api/tracking/events/{program_id}/export`: a program's events as a file.

use std::collections::VecDeque;

use axum::response::Response;
use domain::ids::ProgramId;
use domain::permission::Permission;
use storage::events::{self, Before, EventRead, EventType, ListedEvent};

use super::dates::{REVERSED, Span};
use super::event_file::{FORMATS, Format, FormatQuery, Lines, PIECE, download};
use super::event_view::{EventView, event_types};
use super::events::EventsQuery;
use crate::management::prelude::*;
use crate::management::workspace_limit::WorkspacePermit;

/// Download a program's events
///
/// All events of the dates, newest first, without test events. An answer that breaks off is not the whole file.
#[utoipa::path(
    get,
    path = "/api/tracking/events/{program_id}/export",
    operation_id = "export_events",
    params(FormatQuery, EventsQuery),
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
    let mut connection = app.management.acquire().await?;
    let access = user
        .program(&mut connection, program_id, Permission::TrackingList)
        .await?;
    drop(connection);
    user.user.just_proved(&app)?;
    let format = Format::of(&query)?;
    let types = event_types(&query)?;
    let span = Span::of(&query)?;
    let permit = app.reads.export(access.workspace_id)?;
    let lines = Download::new(app, program_id, &types, span, permit);
    download(format, &format!("events-{program_id}"), lines).await
}

/// The events that are still to be sent, in the order of the list.
struct Download {
    app: App,
    program_id: ProgramId,
    span: Span,
    types: Vec<OfType>,
    _permit: WorkspacePermit,
}

struct OfType {
    event_type: EventType,
    /// Read and not sent yet, in order.
    read: VecDeque<ListedEvent>,
    /// Where the next read begins; `None` when everything has been read.
    before: Option<Before>,
}

impl Download {
    fn new(
        app: App,
        program_id: ProgramId,
        types: &[EventType],
        span: Span,
        permit: WorkspacePermit,
    ) -> Self {
        let types = types.iter().map(|event_type| OfType {
            event_type: *event_type,
            read: VecDeque::new(),
            before: Some(Before::instant(span.until)),
        });
        Self {
            app,
            program_id,
            span,
            types: types.collect(),
            _permit: permit,
        }
    }

    async fn read_where_none_is_left(&mut self) -> Result<(), ApiError> {
        for of_type in &mut self.types {
            let Some(before) = of_type.before.filter(|_| of_type.read.is_empty()) else {
                continue;
            };
            let limit = PIECE;
            let read = EventRead {
                program_id: self.program_id,
                event_type: of_type.event_type,
                from: self.span.from,
                before,
                with_tests: false,
                limit: i64::try_from(limit).unwrap_or(i64::MAX),
            };
            let mut connection = self.app.reads.acquire().await?;
            of_type.read = events::newest(&mut connection, &read).await?.into();
            let is_last = of_type.read.len() < limit;
            of_type.before = of_type.read.back().map(Before::event).filter(|_| !is_last);
        }
        Ok(())
    }
}

impl Lines for Download {
    type Line = EventView;

    async fn piece(&mut self) -> Result<Vec<EventView>, ApiError> {
        if self.app.closing.is_cancelled() {
            return Err(ApiError::Overloaded);
        }
        let mut piece = Vec::with_capacity(PIECE);
        while piece.len() < PIECE {
            self.read_where_none_is_left().await?;
            let newest = self
                .types
                .iter_mut()
                .filter(|of_type| !of_type.read.is_empty())
                .max_by_key(|of_type| of_type.read.front().map(ListedEvent::place));
            match newest.and_then(|of_type| of_type.read.pop_front()) {
                Some(event) => piece.push(EventView::new(event)),
                None => break,
            }
        }
        Ok(piece)
    }
}

pub fn examples() -> Examples {
    Examples::of_refusals([FORMATS, REVERSED, ApiError::Overloaded])
}
