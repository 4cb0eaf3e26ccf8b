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

#[derive(Debug, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
#[expect(dead_code, reason = "described, never built: a query is read by name")]
pub struct StreamQuery {
    /// `meta.next` of the answer before. The beginning of what is kept unless said otherwise.
    after: Option<String>,
    /// Types of events with commas between them; all of them unless said otherwise.
    #[param(example = "click.recorded,sale.recorded")]
    types: Option<String>,
    /// Events in one answer, 1,000 unless said otherwise.
    #[param(minimum = 1, maximum = 10_000)]
    limit: Option<u32>,
    /// Seconds to wait for an event when there is none.
    #[param(minimum = 0, maximum = 30)]
    wait: Option<u32>,
}

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
        let limit = query.parsed("limit", "must be an integer from 1 to 10000", |text| {
            let limit = text.parse().ok()?;
            (1..=MAX_LIMIT).contains(&limit).then_some(limit)
        })?;
        let wait = query.parsed("wait", "must be an integer from 0 to 30", |text| {
            let seconds = text.parse().ok()?;
            (0..=MAX_WAIT).contains(&seconds).then_some(seconds)
        })?;
        Ok(Self {
            after: after.transpose()?,
            types: types.transpose()?.unwrap_or_else(StreamTypes::all),
            limit: limit.unwrap_or(DEFAULT_LIMIT),
            wait: wait.filter(|seconds| *seconds > 0).map(Duration::from_secs),
        })
    }
}
