//! `GET /api/tracking/events/{program_id}/export`: a program's events as a file.
//!
//! The file is read in pieces while it is sent, each piece with a short read of its own: neither memory, a connection nor a
//! snapshot of the database is held for its length, however slow the client, and nothing is read for a client who has gone.

use std::collections::VecDeque;

use axum::body::{Body, Bytes};
use axum::http::header;
use axum::response::{IntoResponse, Response};
use domain::ids::ProgramId;
use domain::permission::Permission;
use futures::stream;
use storage::events::{self, Before, EventRead, EventType, ListedEvent};

use super::dates::{REVERSED, Span};
use super::event_view::{COLUMNS, EventView, event_types};
use super::events::EventsQuery;
use crate::management::csv_download::{Cell, written};
use crate::management::prelude::*;
use crate::management::workspace_limit::WorkspacePermit;

/// Rows of one type read at once, and rows of a piece.
const PIECE: usize = 1_000;

#[derive(Debug, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
#[expect(dead_code, reason = "described, never built: a query is read by name")]
pub struct FormatQuery {
    /// `csv` unless said otherwise, or `ndjson`: a JSON object a line, as the list has them.
    #[param(example = "ndjson")]
    format: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Format {
    Csv,
    Ndjson,
}

impl Format {
    fn parse(text: &str) -> Option<Self> {
        match text {
            "csv" => Some(Self::Csv),
            "ndjson" => Some(Self::Ndjson),
            _ => None,
        }
    }

    const fn extension(self) -> &'static str {
        match self {
            Self::Csv => "csv",
            Self::Ndjson => "ndjson",
        }
    }

    const fn content_type(self) -> &'static str {
        match self {
            Self::Csv => "text/csv; charset=utf-8",
            Self::Ndjson => "application/x-ndjson",
        }
    }

    fn heading(self) -> Result<Vec<u8>, ApiError> {
        match self {
            Self::Csv => Ok(written(&[COLUMNS.map(|name| Cell::Text(name.to_owned())).into()])?.into()),
            Self::Ndjson => Ok(Vec::new()),
        }
    }

    fn lines(self, events: Vec<ListedEvent>) -> Result<Vec<u8>, ApiError> {
        let views = events.into_iter().map(EventView::new);
        match self {
            Self::Csv => Ok(written(&views.map(EventView::cells).collect::<Vec<_>>())?.into()),
            Self::Ndjson => {
                let mut lines = Vec::new();
                for view in views {
                    serde_json::to_writer(&mut lines, &view).map_err(ApiError::unexpected)?;
                    lines.push(b'\n');
                }
                Ok(lines)
            }
        }
    }
}

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
    let format = query
        .parsed("format", "must be one of csv, ndjson", Format::parse)?
        .unwrap_or(Format::Csv);
    let types = event_types(&query)?;
    let span = Span::of(&query)?;
    let permit = app.reads.export(access.workspace_id)?;
    let mut download = Download::new(app, program_id, &types, span, permit);
    // Read before the answer begins: what fails at once is answered as a failure.
    let first = download.piece().await?;
    let mut begin = format.heading()?;
    begin.extend(format.lines(first)?);
    let pieces = stream::try_unfold((download, begin), move |(mut download, bytes)| async move {
        if bytes.is_empty() {
            return Ok(None);
        }
        let next = download.piece().await.and_then(|events| format.lines(events));
        // The response has started: it is aborted, and the cause is logged.
        let next = next.inspect_err(ApiError::log)?;
        Ok::<_, ApiError>(Some((Bytes::from(bytes), (download, next))))
    });
    let file_name = format!("events-{program_id}.{}", format.extension());
    let headers = [
        (header::CONTENT_TYPE, format.content_type().to_owned()),
        (
            header::CONTENT_DISPOSITION,
            format!("attachment; filename=\"{file_name}\""),
        ),
    ];
    Ok((headers, Body::from_stream(pieces)).into_response())
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

    /// The next events; none when all are sent.
    async fn piece(&mut self) -> Result<Vec<ListedEvent>, ApiError> {
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
                Some(event) => piece.push(event),
                None => break,
            }
        }
        Ok(piece)
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

pub fn examples() -> Examples {
    Examples::of_refusals([
        ApiError::bad_request("format must be one of csv, ndjson"),
        REVERSED,
        ApiError::Overloaded,
    ])
}
