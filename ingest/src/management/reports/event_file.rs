//! Files of events, as CSV or NDJSON.

use axum::response::Response;
use domain::ids::ProgramId;
use domain::reports::program_events::EventPlace;
use futures::stream;
use serde_json::Value;
use storage::reads::program_events::{self, Filter, PageRead, ProgramEvent};
use storage::snapshot;

use crate::http::query::Query;
use crate::management::csv_download::{CSV, Cell, PIECE, file, heading, written};
use crate::management::prelude::*;
use crate::management::workspace_limit::WorkspacePermit;

pub const FORMATS: ApiError = ApiError::refusal("format must be one of csv, ndjson");

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    Csv,
    Ndjson,
}

/// A line of a file: an object in NDJSON, a cell for each column in CSV.
pub trait Line: Serialize + Send + 'static {
    const COLUMNS: &'static [&'static str];

    /// An object with a field for each column that applies.
    fn flat(&self) -> Value {
        serde_json::to_value(self).unwrap_or_default()
    }

    fn cells(&self) -> Vec<Cell> {
        let line = self.flat();
        let cell = |column: &&str| match line.get(*column) {
            Some(Value::String(text)) => Cell::Text(text.clone()),
            Some(Value::Number(number)) => number.as_i64().into(),
            Some(Value::Bool(flag)) => Cell::Text(flag.to_string()),
            _ => Cell::Empty,
        };
        Self::COLUMNS.iter().map(cell).collect()
    }
}

/// The lines of a file that have not been sent yet, in the order of the list.
pub struct EventLines<L> {
    app: App,
    program_id: ProgramId,
    filter: Filter,
    with_commissions: bool,
    /// `None`: the file leaves out this event.
    view: fn(ProgramEvent) -> Option<L>,
    after: Option<EventPlace>,
    /// Whether everything was read.
    is_whole: bool,
    _permit: WorkspacePermit,
}

impl<L: Line> EventLines<L> {
    pub fn new(
        app: App,
        program_id: ProgramId,
        filter: Filter,
        with_commissions: bool,
        permit: WorkspacePermit,
        view: fn(ProgramEvent) -> Option<L>,
    ) -> Self {
        Self {
            app,
            program_id,
            filter,
            with_commissions,
            view,
            after: None,
            is_whole: false,
            _permit: permit,
        }
    }

    /// The next lines; none at the end.
    async fn piece(&mut self) -> Result<Vec<L>, ApiError> {
        let mut events = Vec::new();
        // A filter may reject every event of a piece.
        while events.is_empty() && !self.is_whole {
            if self.app.closing.is_cancelled() {
                return Err(ApiError::Overloaded);
            }
            let read = PageRead {
                program_id: self.program_id,
                filter: &self.filter,
                after: self.after,
                limit: PIECE,
                with_commissions: self.with_commissions,
            };
            let mut connection = self.app.reads.acquire().await?;
            let mut snapshot = snapshot::begin(&mut connection).await?;
            let page = program_events::page(&mut snapshot, &read).await?;
            self.after = page.next;
            self.is_whole = page.next.is_none();
            events = page.events;
        }
        Ok(events.into_iter().filter_map(self.view).collect())
    }
}

impl Format {
    pub fn of(query: &Query) -> Result<Self, ApiError> {
        let format = query.parsed("format", "must be one of csv, ndjson", |text| match text {
            "csv" => Some(Self::Csv),
            "ndjson" => Some(Self::Ndjson),
            _ => None,
        })?;
        Ok(format.unwrap_or(Self::Csv))
    }

    const fn extension(self) -> &'static str {
        match self {
            Self::Csv => "csv",
            Self::Ndjson => "ndjson",
        }
    }

    const fn content_type(self) -> &'static str {
        match self {
            Self::Csv => CSV,
            Self::Ndjson => "application/x-ndjson",
        }
    }

    fn lines<L: Line>(self, lines: &[L]) -> Result<Vec<u8>, ApiError> {
        match self {
            Self::Csv => written(&lines.iter().map(L::cells).collect::<Vec<_>>()),
            Self::Ndjson => {
                let mut bytes = Vec::new();
                for line in lines {
                    serde_json::to_writer(&mut bytes, line).map_err(ApiError::unexpected)?;
                    bytes.push(b'\n');
                }
                Ok(bytes)
            }
        }
    }
}

/// A file of this name. The first piece is read before the answer begins, so that an immediate failure gets
/// an error status.
pub async fn download<L: Line>(
    format: Format,
    name: &str,
    mut lines: EventLines<L>,
) -> Result<Response, ApiError> {
    let mut begin = match format {
        Format::Csv => heading(L::COLUMNS)?,
        Format::Ndjson => Vec::new(),
    };
    begin.extend(format.lines(&lines.piece().await?)?);
    let rest = stream::try_unfold(lines, move |mut lines| async move {
        let bytes = format.lines(&lines.piece().await?)?;
        Ok::<_, ApiError>((!bytes.is_empty()).then_some((bytes, lines)))
    });
    let file_name = format!("{name}.{}", format.extension());
    Ok(file(&file_name, format.content_type(), begin, rest))
}
