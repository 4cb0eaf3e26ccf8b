//! Reads the stream in pieces while one answer is sent.

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use chrono::{DateTime, Utc};
use domain::ids::ProgramId;
use domain::programs::event_stream::{EventCursor, StreamPlace, StreamTypes};
use messages::instant::instant;
use storage::outbound::stream_events::{self, Piece, StreamRead};
use tokio::time::Instant;

use super::answer::{Format, StreamMeta};
use super::question::Question;
use crate::management::access::ReadProgram;
use crate::management::access::right::ReadEvents;
use crate::management::prelude::*;
use crate::management::workspace_limit::WorkspacePermit;

/// Events read at once.
const PIECE: u32 = 1_000;
/// The most reads for one answer, so that a search for a rare type of event ends too.
const READS: u32 = 64;

/// When the program's stream was turned on, and whether this request turned it on.
#[derive(Debug, Clone, Copy)]
pub struct StreamState {
    pub since: DateTime<Utc>,
    pub started: bool,
}

pub struct Reading {
    app: App,
    /// The caller's request: the right is checked again, because it may be removed while the caller waits.
    request: Parts,
    program_id: ProgramId,
    types: StreamTypes,
    stream: StreamState,
    format: Format,
    place: StreamPlace,
    read_until: DateTime<Utc>,
    /// The events and reads that are left.
    limit: u32,
    reads: u32,
    /// Whether everything was read.
    is_last: bool,
    has_events: bool,
    /// Until when the answer waits for its first event.
    waits: Option<(Instant, WorkspacePermit)>,
    has_ended: bool,
}

impl Reading {
    pub fn new(
        app: App,
        request: Parts,
        program_id: ProgramId,
        question: Question,
        stream: StreamState,
        permit: Option<WorkspacePermit>,
    ) -> Self {
        let until = question.wait.map(|wait| Instant::now() + wait);
        Self {
            app,
            program_id,
            types: question.types,
            stream,
            format: Format::accepted(&request.headers),
            request,
            place: question.after.map(|after| after.place).unwrap_or_default(),
            read_until: question.after.map_or(stream.since, |after| after.read_until),
            limit: question.limit,
            reads: READS,
            is_last: false,
            has_events: false,
            waits: until.zip(permit),
            has_ended: false,
        }
    }

    pub const fn format(&self) -> Format {
        self.format
    }

    /// The beginning of the answer; `None` if it must wait for an event.
    pub async fn begin(&mut self) -> Result<Option<Vec<u8>>, ApiError> {
        let mut bytes = self.format.beginning().to_vec();
        let piece = self.piece().await?;
        self.add(&mut bytes, piece)?;
        Ok(Some(bytes).filter(|bytes| !bytes.is_empty()))
    }

    /// The next part of the answer; empty at the end.
    pub async fn go_on(&mut self) -> Result<Vec<u8>, ApiError> {
        let mut bytes = Vec::new();
        while bytes.is_empty() && !self.has_ended {
            let waits = self.waits.as_ref().filter(|_| self.is_last);
            let has_more = match waits {
                Some((until, _)) => {
                    let waits = &self.app.stream_waits;
                    waits
                        .has_later(self.program_id, self.place.position, *until)
                        .await
                        && self.may_still_read().await?
                }
                None => true,
            };
            if has_more {
                let piece = self.piece().await?;
                self.add(&mut bytes, piece)?;
            } else {
                self.end(&mut bytes)?;
            }
        }
        Ok(bytes)
    }

    /// A caller that has lost the right gets no events, only the cursor. The next request is refused.
    async fn may_still_read(&self) -> Result<bool, ApiError> {
        let asked = ReadProgram::<ReadEvents>::from_request_parts(&mut self.request.clone(), &self.app).await;
        match asked {
            Ok(_) => Ok(true),
            Err(error) if error.status().is_client_error() => Ok(false),
            Err(error) => Err(error),
        }
    }

    async fn piece(&mut self) -> Result<Piece, ApiError> {
        let read = StreamRead {
            program_id: self.program_id,
            since: self.stream.since,
            after: self.place,
            types: &self.types,
            limit: self.limit.min(PIECE),
        };
        let mut connection = self.app.reads.acquire().await?;
        let now = self.app.clock.now();
        let piece = stream_events::read(&mut connection, &read).await?;
        drop(connection);
        self.place = piece.next;
        self.is_last = piece.is_last;
        self.read_until = if piece.is_last {
            now
        } else {
            piece.read_until.unwrap_or(self.read_until)
        };
        self.reads -= 1;
        let count = u32::try_from(piece.events.len()).unwrap_or(u32::MAX);
        self.limit = self.limit.saturating_sub(count);
        Ok(piece)
    }

    fn add(&mut self, bytes: &mut Vec<u8>, piece: Piece) -> Result<(), ApiError> {
        for event in piece.events {
            self.format
                .event(bytes, self.program_id, event, self.has_events)?;
            self.has_events = true;
        }
        let waits = self.waits.is_some() && !self.has_events;
        let is_done = self.limit == 0 || self.reads == 0 || (self.is_last && !waits);
        // If the answer ends early, the cursor says so.
        if is_done || self.app.closing.is_cancelled() {
            self.end(bytes)?;
        }
        Ok(())
    }

    fn end(&mut self, bytes: &mut Vec<u8>) -> Result<(), ApiError> {
        let next = EventCursor {
            program_id: self.program_id,
            place: self.place,
            read_until: self.read_until,
        };
        let meta = StreamMeta {
            next: next.encode(),
            has_more: !self.is_last,
            since: instant(self.stream.since),
            started: self.stream.started,
        };
        self.has_ended = true;
        self.format.end(bytes, &meta)
    }
}
