//! `GET /api/tracking/live/{program_id}`: a program's events as they are committed, including test events.
//!
//! Each open stream polls the tables twice a second: the pipeline should do no work for a view that is rarely
//! open. The client pulls the stream: while the client does not read, the stream reads and holds nothing.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet, VecDeque};
use std::convert::Infallible;
use std::time::Duration;

use axum::http::HeaderMap;
use axum::response::IntoResponse;
use axum::response::sse::{Event, KeepAlive, Sse};
use chrono::{DateTime, TimeDelta, Utc};
use domain::ids::ProgramId;
use domain::people::permission::Permission;
use domain::reports::program_events::ProgramEventType;
use futures::stream;
use serde_json::json;
use sqlx::PgConnection;
use storage::reads::program_events::{self, Filter, PageRead, ProgramEvent};

use super::event_view::{LiveEventView, TYPES, type_name};
use crate::http::field::refused;
use crate::management::access::AdvertiserUser;
use crate::management::answers::Ids;
use crate::management::prelude::*;
use crate::management::workspace_limit::WorkspacePermit;

const LOOK_EVERY: Duration = Duration::from_millis(500);
/// The most events of each type in one poll.
const AT_ONCE: i64 = 100;
/// An event that is committed later than this after it happened is not shown. A resumed stream begins no
/// earlier.
const LATE: TimeDelta = TimeDelta::minutes(10);
/// A row gets its time when its transaction begins, but is visible only after the commit.
const COMMITS_WITHIN: TimeDelta = TimeDelta::seconds(10);
/// How often a quiet stream sends its position, from which a client that reconnects continues.
const PLACE_EVERY: TimeDelta = TimeDelta::minutes(1);
const HEARTBEAT: Duration = Duration::from_secs(15);
const LAST_EVENT_ID: &str = "last-event-id";

/// Watch a program's events arrive
///
/// Server-sent events from now on, named `click`, `lead` and `conversion`: the fields of the list, and `is_test`. An event
/// named `dropped` says that more of an `event_type` came than were shown. The stream ends with the session and when the
/// service stops. With the `Last-Event-ID` it stopped at it goes on there, within ten minutes: an event may then come twice,
/// with the same `event_type` and `id`.
#[utoipa::path(
    get,
    path = "/api/tracking/live/{program_id}",
    params(
        ("Last-Event-ID" = Option<String>, Header, description = "The last `id` of a stream that ended."),
    ),
    responses(
        (status = 200, description = "A stream without end.", content((LiveEventView = "text/event-stream"))),
        (status = 503, description = "Too many streams at once.", body = PlatformError),
    ),
    extensions(("x-refusals" = json!([
        refused("Last-Event-ID", "must be the id of an event of this stream"), ApiError::Overloaded
    ]))),
)]
pub async fn live_events(
    State(app): State<App>,
    user: AdvertiserUser,
    Ids(program_id): Ids<ProgramId>,
    headers: HeaderMap,
) -> Result<impl IntoResponse, ApiError> {
    let stopped_at = stopped_at(&headers)?;
    let access = user.permitted(&app, program_id, Permission::TrackingList).await?;
    let permit = app.reads.live_stream(access.workspace_id)?;
    let mut watch = Watch::new(app, user, program_id, permit);
    // A new stream skips existing events; a resumed stream sends those that it missed.
    watch.look(stopped_at).await?;
    if stopped_at.is_none() {
        watch.ready.clear();
    }
    let listening = Event::default().comment("listening").id(watch.place());
    watch.ready.push_front(listening);
    let events = stream::unfold(watch, |mut watch| async move {
        let event = watch.next().await?;
        Some((Ok::<_, Infallible>(event), watch))
    });
    // A buffering proxy would delay the events.
    let headers = [("x-accel-buffering", "no")];
    Ok((
        headers,
        Sse::new(events).keep_alive(KeepAlive::new().interval(HEARTBEAT)),
    ))
}

/// The position of a resumed stream: all events committed before it had been sent.
fn stopped_at(headers: &HeaderMap) -> Result<Option<DateTime<Utc>>, ApiError> {
    let Some(id) = headers.get(LAST_EVENT_ID) else {
        return Ok(None);
    };
    let milliseconds = id.to_str().ok().and_then(|id| id.parse().ok());
    let at = milliseconds.and_then(DateTime::from_timestamp_millis);
    at.map(Some)
        .ok_or_else(|| refused("Last-Event-ID", "must be the id of an event of this stream"))
}

struct Watch {
    app: App,
    user: AdvertiserUser,
    program_id: ProgramId,
    /// All events committed before this time have been sent.
    looked_at: DateTime<Utc>,
    /// When the client last got a position.
    place_sent_at: DateTime<Utc>,
    /// The events of the last poll. An event that has left the newest ones never returns.
    seen: HashMap<ProgramEventType, HashSet<i64>>,
    /// Events to send.
    ready: VecDeque<Event>,
    _permit: WorkspacePermit,
}

impl Watch {
    fn new(app: App, user: AdvertiserUser, program_id: ProgramId, permit: WorkspacePermit) -> Self {
        let now = app.clock.now();
        Self {
            looked_at: now,
            place_sent_at: now,
            app,
            user,
            program_id,
            seen: HashMap::new(),
            ready: VecDeque::new(),
            _permit: permit,
        }
    }

    /// `None` ends the stream.
    async fn next(&mut self) -> Option<Event> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                return Some(event);
            }
            tokio::select! {
                () = self.app.closing.cancelled() => return None,
                () = tokio::time::sleep(LOOK_EVERY) => {}
            }
            // The client reconnects, and gets the refusal then.
            if !self.may_still_watch().await.inspect_err(ApiError::log).ok()? {
                return None;
            }
            self.look(None).await.inspect_err(ApiError::log).ok()?;
        }
    }

    async fn may_still_watch(&self) -> Result<bool, ApiError> {
        let mut connection = self.app.management.acquire().await?;
        let user = self.user.user;
        if !user.is_still_advertiser(&self.app, &mut connection).await? {
            return Ok(false);
        }
        let (program_id, list) = (self.program_id, Permission::TrackingList);
        match self.user.program(&mut connection, program_id, list).await {
            Ok(_) => Ok(true),
            Err(ApiError::Forbidden(_) | ApiError::NotFound(_)) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// The `id` of an event. A client that resumes with it does not get earlier events again.
    fn place(&self) -> String {
        self.looked_at.timestamp_millis().to_string()
    }

    async fn newest(
        &self,
        connection: &mut PgConnection,
        event_type: ProgramEventType,
        now: DateTime<Utc>,
    ) -> Result<Vec<ProgramEvent>, ApiError> {
        let mut newest = Vec::new();
        for is_test in [false, true] {
            let filter = Filter {
                is_test,
                // The clocks of edges differ.
                ..Filter::of_types(vec![event_type], now - LATE, now + LATE)
            };
            let read = PageRead {
                program_id: self.program_id,
                filter: &filter,
                after: None,
                limit: AT_ONCE,
                with_commissions: false,
            };
            newest.extend(program_events::page(connection, &read).await?.events);
        }
        newest.sort_unstable_by_key(|event| Reverse(event.place()));
        newest.truncate(usize::try_from(AT_ONCE).unwrap_or(usize::MAX));
        Ok(newest)
    }

    /// Queues the events that are new since the last poll, oldest first. The first poll queues the events
    /// after `stopped_at`.
    async fn look(&mut self, stopped_at: Option<DateTime<Utc>>) -> Result<(), ApiError> {
        let now = self.app.clock.now();
        let since = stopped_at.map(|at| at - COMMITS_WITHIN);
        let is_news = |event: &ProgramEvent| since.is_none_or(|since| event.created_at >= since);
        let is_gap = since.is_some_and(|since| since < now - LATE);
        let mut connection = self.app.reads.acquire().await?;
        let mut news = Vec::new();
        for event_type in TYPES {
            let newest = self.newest(&mut connection, event_type, now).await?;
            let ids: HashSet<i64> = newest.iter().map(|event| event.id).collect();
            let before = self.seen.insert(event_type, ids).unwrap_or_default();
            let count = newest.len();
            let fresh: Vec<_> = newest
                .into_iter()
                .filter(|event| !before.contains(&event.id) && is_news(event))
                .collect();
            let is_full = i64::try_from(count).is_ok_and(|count| count >= AT_ONCE) && fresh.len() == count;
            if is_full || is_gap {
                let data = json!({ "event_type": type_name(event_type) }).to_string();
                self.ready.push_back(Event::default().event("dropped").data(data));
            }
            news.extend(fresh);
        }
        news.sort_by_key(ProgramEvent::place);
        if !news.is_empty() {
            self.place_sent_at = now;
        } else if now - self.place_sent_at >= PLACE_EVERY {
            self.place_sent_at = now;
            self.looked_at = now;
            let place = Event::default().comment("nothing new").id(self.place());
            self.ready.push_back(place);
        }
        for event in news {
            let name = type_name(event.event_type());
            let Some(view) = LiveEventView::of(event) else {
                continue;
            };
            let sent = Event::default()
                .event(name)
                // The position of the previous poll: until the client has read the last event of this poll,
                // it has not read all of them.
                .id(self.place())
                .json_data(view)
                .map_err(ApiError::unexpected)?;
            self.ready.push_back(sent);
        }
        self.looked_at = now;
        Ok(())
    }
}
