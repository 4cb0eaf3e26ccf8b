//! `GET /api/tracking/live/{program_id}`: a program's events as they are committed, test events among them.
//!
//! Each open stream polls the tables twice a second: the pipeline does nothing for a view that is rarely open.
//! A stream is pulled by its client; while one does not read, nothing is looked for and nothing is held.

use std::collections::{HashMap, HashSet, VecDeque};
use std::convert::Infallible;
use std::time::Duration;

use axum::response::IntoResponse;
use axum::response::sse::{Event, KeepAlive, Sse};
use chrono::TimeDelta;
use domain::ids::ProgramId;
use domain::permission::Permission;
use futures::stream;
use storage::events::{self, Before, EventRead, EventType, ListedEvent};

use super::event_view::LiveEventView;
use crate::management::prelude::*;
use crate::management::workspace_limit::WorkspacePermit;

const LOOK_EVERY: Duration = Duration::from_millis(500);
/// Of each type, in one look.
const AT_ONCE: i64 = 100;
/// What is committed later than this after it happened is not shown.
const LATE: TimeDelta = TimeDelta::minutes(10);
const HEARTBEAT: Duration = Duration::from_secs(15);

/// Watch a program's events arrive
///
/// Server-sent events from now on, named `click`, `lead` and `conversion`: the fields of the list, and `is_test`. An event
/// named `dropped` says that more of an `event_type` came than were shown. The stream ends with the session and when the
/// service stops.
#[utoipa::path(
    get,
    path = "/api/tracking/live/{program_id}",
    operation_id = "live_events",
    responses(
        (status = 200, description = "A stream without end.", content((LiveEventView = "text/event-stream"))),
        (status = 503, description = "Too many streams at once.", body = PlatformError),
    )
)]
pub async fn live(
    State(app): State<App>,
    user: AdvertiserUser,
    Ids(program_id): Ids<ProgramId>,
) -> Result<impl IntoResponse, ApiError> {
    let mut connection = app.management.acquire().await?;
    let access = user
        .program(&mut connection, program_id, Permission::TrackingList)
        .await?;
    drop(connection);
    let permit = app.reads.live_stream(access.workspace_id)?;
    let mut watch = Watch::new(app, user, program_id, permit);
    // What is there already is not news.
    watch.look().await?;
    let listening = Event::default().comment("listening");
    watch.ready = VecDeque::from([listening]);
    let events = stream::unfold(watch, |mut watch| async move {
        let event = watch.next().await?;
        Some((Ok::<_, Infallible>(event), watch))
    });
    // A proxy that collects what it passes on would show nothing for long.
    let headers = [("x-accel-buffering", "no")];
    Ok((
        headers,
        Sse::new(events).keep_alive(KeepAlive::new().interval(HEARTBEAT)),
    ))
}

struct Watch {
    app: App,
    user: AdvertiserUser,
    program_id: ProgramId,
    /// The events of the last look. One that is not among the newest any more never is again.
    seen: HashMap<EventType, HashSet<i64>>,
    /// To be sent.
    ready: VecDeque<Event>,
    _permit: WorkspacePermit,
}

impl Watch {
    fn new(app: App, user: AdvertiserUser, program_id: ProgramId, permit: WorkspacePermit) -> Self {
        Self {
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
            // The client connects again, and gets the refusal then.
            if !self.may_still_watch().await.inspect_err(ApiError::log).ok()? {
                return None;
            }
            self.look().await.inspect_err(ApiError::log).ok()?;
        }
    }

    async fn may_still_watch(&self) -> Result<bool, ApiError> {
        let mut connection = self.app.management.acquire().await?;
        if !self
            .user
            .user
            .is_still_advertiser(&self.app, &mut connection)
            .await?
        {
            return Ok(false);
        }
        let access = self
            .user
            .program(&mut connection, self.program_id, Permission::TrackingList)
            .await;
        match access {
            Ok(_) => Ok(true),
            Err(ApiError::Forbidden(_) | ApiError::NotFound(_)) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Puts what is new since the last look among what is ready, oldest first.
    async fn look(&mut self) -> Result<(), ApiError> {
        let now = self.app.clock.now();
        let mut connection = self.app.reads.acquire().await?;
        let mut news = Vec::new();
        for event_type in EventType::ALL {
            let read = EventRead {
                program_id: self.program_id,
                event_type,
                from: now - LATE,
                // Clocks of edges differ.
                before: Before::instant(now + LATE),
                with_tests: true,
                limit: AT_ONCE,
            };
            let newest = events::newest(&mut connection, &read).await?;
            let ids: HashSet<i64> = newest.iter().map(|event| event.id).collect();
            let before = self.seen.insert(event_type, ids).unwrap_or_default();
            let count = newest.len();
            let fresh: Vec<_> = newest
                .into_iter()
                .filter(|event| !before.contains(&event.id))
                .collect();
            if i64::try_from(count).is_ok_and(|count| count >= AT_ONCE) && fresh.len() == count {
                let data = json!({ "event_type": event_type.as_str() }).to_string();
                self.ready.push_back(Event::default().event("dropped").data(data));
            }
            news.extend(fresh);
        }
        news.sort_by_key(ListedEvent::place);
        for event in news {
            let (event_type, id) = (event.event_type().as_str(), event.id);
            let sent = Event::default()
                .event(event_type)
                .id(format!("{event_type}-{id}"))
                .json_data(LiveEventView::new(event))
                .map_err(ApiError::unexpected)?;
            self.ready.push_back(sent);
        }
        Ok(())
    }
}

pub fn examples() -> Examples {
    Examples::of_refusals([ApiError::Overloaded])
}
