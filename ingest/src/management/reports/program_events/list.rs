//! `GET …/affiliate-programs/{program_id}/events`.

use axum::Json;
use chrono::{DateTime, Utc};
use domain::ids::ProgramId;
use domain::reports::program_events::EventPlace;
use messages::instant::as_instant_if_any;
use storage::reads::program_events::{self, PageRead};
use storage::snapshot;

use super::question::{self, ProgramEventsQuery, TESTS_ARE_NOBODYS};
use super::reader;
use super::view::ProgramEventView;
use crate::http::field::refused;
use crate::http::query::Query;
use crate::management::access::AdvertiserUser;
use crate::management::answers::Ids;
use crate::management::prelude::*;
use crate::management::reports::dates::FROM_AFTER_TO;

const DEFAULT_LIMIT: i64 = 50;
const MAX_LIMIT: i64 = 100;

#[derive(Debug, Serialize, ToSchema)]
pub struct ProgramEventPage {
    data: Vec<ProgramEventView>,
    meta: EventPageMeta,
}

#[derive(Debug, Serialize, ToSchema)]
pub struct EventPageMeta {
    /// Send this as `after` to get the events that follow; null if none follow. An answer may have fewer events than `limit`, or none, although others follow: one request searches a limited number of rows.
    next: Option<String>,
    /// All events after this time have been searched; null if all events have been searched.
    #[serde(serialize_with = "as_instant_if_any")]
    since: Option<DateTime<Utc>>,
}

/// List clicks, leads, sales and refunds
///
/// Newest first. Send `meta.next` as `after` to read on; events that arrive meanwhile do not shift the list. What a sale earned is shown to those who may also read the program (`program:read`).
#[utoipa::path(
    get,
    path = "/api/advertiser/affiliate-programs/{program_id}/events",
    params(
        (
            "after" = Option<String>, Query,
            description = "`meta.next` of the previous answer; send the same filters. Without it, the newest events are returned.",
        ),
        (
            "limit" = Option<i64>, Query, minimum = 1, maximum = 100,
            description = "Events in one answer, 50 unless said otherwise.",
        ),
        ProgramEventsQuery,
    ),
    responses((status = 200, description = "Some of them, in order.", body = ProgramEventPage)),
    extensions(("x-refusals" = json!([
        ApiError::bad_request("type must be one of click, lead, sale, refund"),
        FROM_AFTER_TO, TESTS_ARE_NOBODYS, ApiError::bad_request("limit must be an integer from 1 to 100"),
        ApiError::bad_request("after must be the next of an answer: it is not whole")
    ]))),
)]
pub async fn list_program_events(
    State(app): State<App>,
    user: AdvertiserUser,
    Ids(program_id): Ids<ProgramId>,
    query: Query,
) -> Result<Json<ProgramEventPage>, ApiError> {
    let (_, with_commissions) = reader(&app, &user, program_id).await?;
    let after = query
        .parsed("after", "", |text| Some(EventPlace::parse(text, program_id)))?
        .transpose()
        .map_err(|error| refused("after", &format!("must be the next of an answer: {error}")))?;
    let limit = query.within("limit", 1..=MAX_LIMIT)?;
    let mut connection = app.reads.acquire().await?;
    let filter = question::filter(&app, &mut connection, program_id, &query).await?;
    let read = PageRead {
        program_id,
        filter: &filter,
        after,
        limit: limit.unwrap_or(DEFAULT_LIMIT),
        with_commissions,
    };
    let mut snapshot = snapshot::begin(&mut connection).await?;
    let page = program_events::page(&mut snapshot, &read).await?;
    Ok(Json(ProgramEventPage {
        data: page.events.into_iter().map(ProgramEventView::from).collect(),
        meta: EventPageMeta {
            next: page.next.map(|place| place.encode(program_id)),
            since: page.next.map(|place| place.at),
        },
    }))
}
