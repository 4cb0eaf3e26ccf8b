//! Files of events.
//!
//! A file is read in pieces while it is sent, each piece with a short read of its own. However slow the
//! client, neither memory, a connection nor a snapshot of the database is held for the length of the file.
//! Nothing is read for a client that has disconnected.

use axum::body::{Body, Bytes};
use axum::http::header;
use axum::response::{IntoResponse, Response};
use futures::stream;
use serde_json::Value;

use crate::http::query::Query;
use crate::management::csv_download::{Cell, written};
use crate::management::prelude::*;

/// Rows in a piece.
pub const PIECE: usize = 1_000;

#[derive(Debug, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
#[expect(dead_code, reason = "described, never built: a query is read by name")]
pub struct FormatQuery {
    /// `csv` unless said otherwise, or `ndjson`: a JSON object a line, as the list has them.
    #[param(example = "ndjson")]
    format: Option<String>,
}

pub const FORMATS: ApiError = ApiError::refusal("format must be one of csv, ndjson");

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    Csv,
    Ndjson,
}

/// A line of a file: an object in NDJSON, a cell for each column in CSV.
pub trait Line: Serialize + Send + 'static {
    const COLUMNS: &'static [&'static str];

    fn cells(&self) -> Vec<Cell>;
}

/// The source of a file's lines.
pub trait Lines: Send + 'static {
    type Line: Line;

    /// The next lines; none at the end.
    fn piece(&mut self) -> impl Future<Output = Result<Vec<Self::Line>, ApiError>> + Send;
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
            Self::Csv => "text/csv; charset=utf-8",
            Self::Ndjson => "application/x-ndjson",
        }
    }

    fn heading<L: Line>(self) -> Result<Vec<u8>, ApiError> {
        match self {
            Self::Csv => {
                let names = L::COLUMNS.iter().map(|name| Cell::Text((*name).to_owned()));
                Ok(written(&[names.collect()])?.into())
            }
            Self::Ndjson => Ok(Vec::new()),
        }
    }

    fn lines<L: Line>(self, lines: &[L]) -> Result<Vec<u8>, ApiError> {
        match self {
            Self::Csv => Ok(written(&lines.iter().map(L::cells).collect::<Vec<_>>())?.into()),
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
pub async fn download<S: Lines>(format: Format, name: &str, mut lines: S) -> Result<Response, ApiError> {
    let first = lines.piece().await?;
    let mut begin = format.heading::<S::Line>()?;
    begin.extend(format.lines(&first)?);
    let pieces = stream::try_unfold((lines, begin), move |(mut lines, bytes)| async move {
        if bytes.is_empty() {
            return Ok(None);
        }
        let next = lines.piece().await.and_then(|piece| format.lines(&piece));
        // The response has started: it is aborted, and the cause is logged.
        let next = next.inspect_err(ApiError::log)?;
        Ok::<_, ApiError>(Some((Bytes::from(bytes), (lines, next))))
    });
    let file_name = format!("{name}.{}", format.extension());
    let headers = [
        (header::CONTENT_TYPE, format.content_type().to_owned()),
        (
            header::CONTENT_DISPOSITION,
            format!("attachment; filename=\"{file_name}\""),
        ),
    ];
    Ok((headers, Body::from_stream(pieces)).into_response())
}

/// The object's fields that the columns name; an absent field gives an empty cell.
pub fn cells_of(line: &Value, columns: &[&str]) -> Vec<Cell> {
    let cell = |column: &&str| match line.get(*column) {
        Some(Value::String(text)) => Cell::Text(text.clone()),
        Some(Value::Number(number)) => number.as_i64().into(),
        Some(Value::Bool(flag)) => Cell::Text(flag.to_string()),
        _ => Cell::Empty,
    };
    columns.iter().map(cell).collect()
}
