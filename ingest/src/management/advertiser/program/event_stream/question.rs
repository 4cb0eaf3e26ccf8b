//! The parameters of a read of the event stream.

use std::time::Duration;

use domain::ids::ProgramId;
use domain::programs::event_stream::{EventCursor, StreamTypes};

use crate::http::field::refused;
use crate::http::query::Query;
use crate::management::prelude::*;

const DEFAULT_LIMIT: u32 = 1_000;
const MAX_LIMIT: u32 = 10_000;
const MAX_WAIT: u64 = 30;

#[derive(Debug)]
pub struct Question {
    pub after: Option<EventCursor>,
    pub types: StreamTypes,
    pub limit: u32,
    pub wait: Option<Duration>,
}

impl Question {
    pub fn of(query: &Query, program_id: ProgramId) -> Result<Self, ApiError> {
        let text = |name| query.parsed(name, "", |text| Some(text.to_owned()));
        let after = text("after")?.map(|text| {
            EventCursor::parse(&text, program_id)
                .map_err(|error| refused("after", &format!("must be the next of an answer: {error}")))
        });
        let types = text("types")?.map(|names| {
            StreamTypes::parse(&names)
                .map_err(|unknown| refused("types", &format!("names no type of events: {unknown}")))
        });
        let limit = query.within("limit", 1..=MAX_LIMIT)?;
        let wait = query.within("wait", 0..=MAX_WAIT)?;
        Ok(Self {
            after: after.transpose()?,
            types: types.transpose()?.unwrap_or_else(StreamTypes::all),
            limit: limit.unwrap_or(DEFAULT_LIMIT),
            wait: wait.filter(|seconds| *seconds > 0).map(Duration::from_secs),
        })
    }
}
