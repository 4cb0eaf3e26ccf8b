//! `GET …/affiliate-programs/{program_id}/event-stream`: all events of a program, in an order that misses no
//! late commit.
//!
//! The answer is read in pieces while it is sent, each piece with a short read of its own. It may begin while
//! it waits for events. A slow or waiting client holds neither memory nor a connection, and nothing is read
//! for a client that has disconnected.

mod answer;
mod question;
mod reading;

use axum::body::{Body, Bytes};
use axum::http::header;
use axum::http::request::Parts;
use axum::response::{IntoResponse, Response};
use domain::programs::event_stream::EventCursor;
use futures::stream;
use sqlx::Connection;
use storage::outbound::event_streams;

use self::answer::StreamPage;
use self::question::Question;
use self::reading::{Reading, StreamState};
use crate::http::query::Query;
use crate::management::access::right::ReadEvents;
use crate::management::access::{Caller, ReadProgram, commit};
use crate::management::prelude::*;

const TOO_OLD: ApiError = ApiError::Gone(
    "after is older than 29 days: events that follow it may not be kept any more. Begin again without it, and take what is missing from the export",
);
const TURNED_OFF: ApiError = ApiError::Gone(
    "after is of a time before the stream was turned off because nobody read it. Begin again without it, and take what is missing from the export",
);

/// Read what happens in a program
///
/// Events of all types and clicks (`click.recorded`), oldest first, in an order in which none appears before one that was read. Send
/// `meta.next` as `after` to read on; events are kept for 30 days. The first read turns the stream on, and what happened before is not in it; it is
/// turned off when nobody has read it for 30 days. With `Accept: application/x-ndjson` each event is a line, and `meta` is the last one. An answer
/// that breaks off is to be read again.
#[utoipa::path(
    get,
    path = "/api/advertiser/affiliate-programs/{program_id}/event-stream",
    params(
        (
            "after" = Option<String>, Query,
            description = "`meta.next` of the answer before. The beginning of what is kept unless said otherwise.",
        ),
        (
            "types" = Option<String>, Query, example = "click.recorded,sale.recorded",
            description = "Types of events with commas between them; all of them unless said otherwise.",
        ),
        (
            "limit" = Option<u32>, Query, minimum = 1, maximum = 10_000,
            description = "Events in one answer, 1,000 unless said otherwise.",
        ),
        ("wait" = Option<u32>, Query, minimum = 0, maximum = 30, description = "Seconds to wait for an event when there is none."),
    ),
    responses(
        (
            status = 200,
            description = "The next events: there may be none although `has_more`.",
            content((StreamPage = "application/json"), (String = "application/x-ndjson"))
        ),
        (status = 410, description = "The cursor is too old.", body = PlatformError),
        (status = 503, description = "Too many requests wait at once.", body = PlatformError),
    ),
    extensions(("x-refusals" = json!([
        ApiError::bad_request("after must be the next of an answer: it is not whole"),
        ApiError::bad_request("limit must be an integer from 1 to 10000"), TOO_OLD, TURNED_OFF,
        ApiError::Overloaded
    ]))),
)]
pub async fn read_event_stream(
    State(app): State<App>,
    program: ReadProgram<ReadEvents>,
    query: Query,
    parts: Parts,
) -> Result<Response, ApiError> {
    let question = Question::of(&query, program.ids)?;
    if question
        .after
        .is_some_and(|after| after.is_too_old(app.clock.now()))
    {
        return Err(TOO_OLD);
    }
    let (program_id, workspace_id) = (program.ids, program.access.workspace_id);
    let stream = stream_of(&app, program).await?;
    let is_from_before = |after: EventCursor| after.is_from_before(stream.since);
    if question.after.is_some_and(is_from_before) {
        return Err(TURNED_OFF);
    }
    let waits = match question.wait {
        Some(_) => Some(app.stream_waits.permit(workspace_id)?),
        None => None,
    };
    let mut reading = Reading::new(app, parts, program_id, question, stream, waits);
    // Read before the answer begins, so that an immediate failure gets an error status.
    let first = reading.begin().await?;
    let content_type = reading.format().content_type();
    let pieces = stream::try_unfold((first, reading), |(next, mut reading)| async move {
        let bytes = match next {
            Some(first) => first,
            // The response has started: it is aborted, and the cause is logged.
            None => reading.go_on().await.inspect_err(ApiError::log)?,
        };
        Ok::<_, ApiError>((!bytes.is_empty()).then(|| (Bytes::from(bytes), (None, reading))))
    });
    Ok(([(header::CONTENT_TYPE, content_type)], Body::from_stream(pieces)).into_response())
}

/// The state of the program's stream. The first read turns the stream on.
async fn stream_of(app: &App, program: ReadProgram<ReadEvents>) -> Result<StreamState, ApiError> {
    let ReadProgram {
        caller,
        access,
        ids: program_id,
        mut db,
        ..
    } = program;
    if let Some(found) = event_streams::find(&mut db, program_id).await? {
        if !found.is_noted {
            event_streams::note_read(&mut db, program_id).await?;
        }
        return Ok(StreamState {
            since: found.since,
            started: false,
        });
    }
    let mut transaction = db.begin().await?;
    let (since, started) = event_streams::turn_on(&mut transaction, program_id).await?;
    if started {
        let audited = access.audited("event_stream.turned_on");
        caller
            .source()
            .audit(app, &mut transaction, caller.actor(), audited)
            .await?;
    }
    commit(transaction).await?;
    Ok(StreamState { since, started })
}
