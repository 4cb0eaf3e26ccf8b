//! `GET /api/tracking/events/{program_id}`: a program's latest events.

use domain::ids::ProgramId;
use domain::people::permission::Permission;
use futures::future::try_join_all;
use storage::reads::program_events::{self, Filter, PageRead, ProgramEvent};

use super::dates::{REVERSED, Span};
use super::event_view::{EventView, event_types};
use crate::http::query::Query;
use crate::management::access::AdvertiserUser;
use crate::management::answers::{Ids, List, Listed, Page, PageQuery};
use crate::management::prelude::*;

/// The list holds at most this many pages of the newest events of each type.
const PAGES_OF_A_TYPE: i64 = 3;

#[derive(Debug, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
#[expect(dead_code, reason = "described, never built: a query is read by name")]
pub struct EventsQuery {
    /// `click`, `lead` or `conversion`; all of them unless said otherwise.
    #[param(rename = "eventType", example = "click")]
    event_type: Option<String>,
    /// ISO 8601, of the years 1970 to 9999: a UTC day or an instant, which is included.
    #[param(rename = "dateFrom", example = "2026-01-01")]
    date_from: Option<String>,
    /// Included, a day as a whole.
    #[param(rename = "dateTo", example = "2026-01-31T23:59:59Z")]
    date_to: Option<String>,
}

/// List a program's events
///
/// Newest first, without test events. Of each type at most three times `pageSize` are listed; narrower dates reach older ones.
#[utoipa::path(
    get,
    path = "/api/tracking/events/{program_id}",
    params(PageQuery, EventsQuery),
    responses((status = 200, description = "A page of them.", body = Listed<EventView>)),
    extensions(("x-refusals" = json!([
        ApiError::bad_request("eventType must be one of click, lead, conversion"), REVERSED
    ]))),
)]
pub async fn list_events(
    State(app): State<App>,
    user: AdvertiserUser,
    Ids(program_id): Ids<ProgramId>,
    page: Page,
    query: Query,
) -> List<EventView> {
    user.permitted(&app, program_id, Permission::TrackingList).await?;
    let types = event_types(&query)?;
    let span = Span::of(&query)?;
    let reads = types.into_iter().map(async |event_type| {
        let filter = Filter::of_types(vec![event_type], span.from, span.until);
        let read = PageRead {
            program_id,
            filter: &filter,
            after: None,
            limit: PAGES_OF_A_TYPE * page.size(),
            with_commissions: false,
        };
        let mut connection = app.reads.acquire().await?;
        Ok::<_, ApiError>(program_events::page(&mut connection, &read).await?.events)
    });
    let mut merged: Vec<ProgramEvent> = try_join_all(reads).await?.into_iter().flatten().collect();
    merged.sort_by_key(|event| std::cmp::Reverse(event.place()));
    let total = i64::try_from(merged.len()).unwrap_or(i64::MAX);
    let rows = page.window().of(merged).into_iter().filter_map(EventView::of);
    Ok(page.listed((rows, total)))
}
