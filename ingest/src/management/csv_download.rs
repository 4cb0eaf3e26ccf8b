//! CSV files for download, read in pieces while they are sent: neither memory nor a connection is held for
//! the length of a file.
//!
//! Each piece is a read of its own: a row shows the state at the time of its piece.

use std::borrow::Cow;

use axum::body::{Body, Bytes};
use axum::http::{HeaderName, header};
use axum::response::{IntoResponse, Response};
use chrono::{DateTime, Utc};
use futures::stream;
use messages::instant::instant;

use crate::management::prelude::*;

/// Rows in a piece.
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
#[derive(Debug)]
pub struct Piece {
    pub rows: Vec<Vec<Cell>>,
    pub last_id: Option<i64>,
}

enum Next {
    Send(Bytes, Option<i64>),
    ReadAfter(i64),
    Done,
}

/// A file of this name. `read` reads the piece after an id. The first piece is read before the answer begins,
/// so that an immediate failure gets an error status.
pub async fn download<R, F>(file_name: &str, columns: &[&str], read: R) -> Result<Response, ApiError>
where
    R: Fn(i64) -> F + Clone + Send + 'static,
    F: Future<Output = Result<Piece, ApiError>> + Send + 'static,
{
    let mut first = read(0).await?;
    let heading = columns
        .iter()
        .map(|name| Cell::Text((*name).to_owned()))
        .collect();
    let after = following(&first);
    first.rows.insert(0, heading);
    let begin = Next::Send(written(&first.rows)?, after);
    let pieces = stream::try_unfold(begin, move |next| {
        let read = read.clone();
        async move {
            match next {
                Next::Send(bytes, after) => Ok(Some((bytes, after.map_or(Next::Done, Next::ReadAfter)))),
                Next::ReadAfter(id) => {
                    // The response has started: it is aborted, and the cause is logged.
                    let piece = read(id).await.inspect_err(ApiError::log)?;
                    let after = following(&piece);
                    let bytes = written(&piece.rows)?;
                    Ok::<_, ApiError>(Some((bytes, after.map_or(Next::Done, Next::ReadAfter))))
                }
                Next::Done => Ok(None),
            }
        }
    });
    let headers: [(HeaderName, String); 2] = [
        (header::CONTENT_TYPE, "text/csv; charset=utf-8".to_owned()),
        (
            header::CONTENT_DISPOSITION,
            format!("attachment; filename=\"{file_name}.csv\""),
        ),
    ];
    Ok((headers, Body::from_stream(pieces)).into_response())
}

/// The id after which the next piece begins, if there is a next piece.
fn following(piece: &Piece) -> Option<i64> {
    let is_full = i64::try_from(piece.rows.len()).is_ok_and(|rows| rows >= PIECE);
    piece.last_id.filter(|_| is_full)
}

pub fn written(rows: &[Vec<Cell>]) -> Result<Bytes, ApiError> {
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
    let bytes = writer
        .into_inner()
        .map_err(|error| ApiError::unexpected(error.into_error()))?;
    Ok(bytes.into())
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
