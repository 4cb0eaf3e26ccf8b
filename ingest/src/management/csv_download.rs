//! Files for download, read in pieces while they are sent. However slow the client, neither memory, a
//! connection nor a snapshot of the database is held for the length of a file. Nothing is read for a client
//! that has disconnected.
//!
//! Each piece is a read of its own: a row shows the state at the time of its piece.

use std::borrow::Cow;

use axum::body::Body;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use chrono::{DateTime, Utc};
use futures::{Stream, StreamExt, TryStreamExt, stream};
use messages::instant::instant;

use crate::management::prelude::*;

pub const CSV: &str = "text/csv; charset=utf-8";
pub const PIECE: i64 = 1_000;

/// One cell. Text comes from users and is made harmless; a number comes from the service and stays unchanged.
#[derive(Debug, Clone)]
pub enum Cell {
    Text(String),
    Number(i64),
    Empty,
}

impl From<i64> for Cell {
    fn from(number: i64) -> Self {
        Self::Number(number)
    }
}

impl From<String> for Cell {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<DateTime<Utc>> for Cell {
    fn from(at: DateTime<Utc>) -> Self {
        Self::Text(instant(at))
    }
}

impl<T: Into<Self>> From<Option<T>> for Cell {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Empty, Into::into)
    }
}

/// The columns of a file and the cells of a row, in one list.
macro_rules! csv_row {
    ($columns:ident; fn $cells:ident($($row:ident: $type:ty),+) { $($column:literal: $cell:expr,)+ }) => {
        const $columns: &[&str] = &[$($column),+];

        fn $cells($($row: $type),+) -> Vec<$crate::management::csv_download::Cell> {
            vec![$($cell.into()),+]
        }
    };
}

pub(crate) use csv_row;

impl Cell {
    fn written(&self) -> Cow<'_, str> {
        match self {
            Self::Text(text) => harmless(text),
            Self::Number(number) => number.to_string().into(),
            Self::Empty => "".into(),
        }
    }
}

/// A spreadsheet runs a cell that begins like a formula. A leading apostrophe makes the cell text.
fn harmless(text: &str) -> Cow<'_, str> {
    if text.starts_with(['=', '+', '-', '@', '\t', '\r', '\n']) {
        format!("'{text}").into()
    } else {
        text.into()
    }
}

/// Rows in order, and the id of the last one. A piece of fewer than [`PIECE`] rows is the last.
#[derive(Debug, Default)]
pub struct Piece {
    pub rows: Vec<Vec<Cell>>,
    pub last_id: Option<i64>,
}

impl Piece {
    pub fn of<T>(rows: Vec<T>, id: impl Fn(&T) -> i64, cells: impl FnMut(T) -> Vec<Cell>) -> Self {
        Self {
            last_id: rows.last().map(id),
            rows: rows.into_iter().map(cells).collect(),
        }
    }
}

/// A CSV file of this name. `read` reads the piece after an id. The first piece is read before the answer begins,
/// so that an immediate failure gets an error status.
pub async fn download<R, F>(file_name: &str, columns: &[&str], read: R) -> Result<Response, ApiError>
where
    R: Fn(i64) -> F + Clone + Send + 'static,
    F: Future<Output = Result<Piece, ApiError>> + Send + 'static,
{
    let first = read(0).await?;
    let mut begin = heading(columns)?;
    begin.extend(written(&first.rows)?);
    let rest = stream::try_unfold(following(&first), move |after| {
        let read = read.clone();
        async move {
            let Some(after) = after else { return Ok(None) };
            let piece = read(after).await?;
            Ok::<_, ApiError>(Some((written(&piece.rows)?, following(&piece))))
        }
    });
    Ok(file(&format!("{file_name}.csv"), CSV, begin, rest))
}

/// A file of this name: the bytes that it begins with, and the rest, which is read while it is sent.
pub fn file(
    name: &str,
    content_type: &'static str,
    begin: Vec<u8>,
    rest: impl Stream<Item = Result<Vec<u8>, ApiError>> + Send + 'static,
) -> Response {
    let begin = (!begin.is_empty()).then_some(Ok(begin));
    // After a failure the response, which has started, is aborted.
    let pieces = stream::iter(begin).chain(rest.inspect_err(ApiError::log));
    let disposition = format!("attachment; filename=\"{name}\"");
    let headers = [
        (header::CONTENT_TYPE, content_type),
        (header::CONTENT_DISPOSITION, disposition.as_str()),
    ];
    (headers, Body::from_stream(pieces)).into_response()
}

pub fn heading(columns: &[&str]) -> Result<Vec<u8>, ApiError> {
    let names = columns.iter().map(|name| Cell::Text((*name).to_owned()));
    written(&[names.collect()])
}

/// The id after which the next piece begins, if there is a next piece.
fn following(piece: &Piece) -> Option<i64> {
    let is_full = i64::try_from(piece.rows.len()).is_ok_and(|rows| rows >= PIECE);
    piece.last_id.filter(|_| is_full)
}

pub fn written(rows: &[Vec<Cell>]) -> Result<Vec<u8>, ApiError> {
    let mut writer = csv::WriterBuilder::new()
        .terminator(csv::Terminator::CRLF)
        // A reader that splits at other separators than the comma must not find a cell inside one, which may
        // begin like a formula.
        .quote_style(csv::QuoteStyle::Always)
        .from_writer(Vec::new());
    for row in rows {
        writer
            .write_record(row.iter().map(|cell| cell.written().into_owned()))
            .map_err(ApiError::unexpected)?;
    }
    writer
        .into_inner()
        .map_err(|error| ApiError::unexpected(error.into_error()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_looks_like_a_formula_is_text_and_numbers_stay_numbers() {
        let text = |text: &str| Cell::Text(text.to_owned());
        let rows = [vec![
            text("=1+1"),
            text("+1"),
            text("-1"),
            text("@SUM(A1)"),
            text("\tx"),
            text("\rx"),
            text("a=b, \"c\";=1+1"),
            Cell::Number(-250),
            Cell::Empty,
        ]];
        let bytes = written(&rows).unwrap();
        assert_eq!(
            std::str::from_utf8(&bytes).unwrap(),
            "\"'=1+1\",\"'+1\",\"'-1\",\"'@SUM(A1)\",\"'\tx\",\"'\rx\",\"a=b, \"\"c\"\";=1+1\",\"-250\",\"\"\r\n"
        );
    }

    #[test]
    fn only_a_full_piece_is_followed_by_another() {
        let piece = |rows| Piece {
            rows: vec![Vec::new(); rows],
            last_id: Some(7),
        };
        assert_eq!(following(&piece(999)), None);
        assert_eq!(following(&piece(1000)), Some(7));
    }
}
