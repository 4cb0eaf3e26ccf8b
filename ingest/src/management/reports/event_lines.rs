//! The lines of a file of events, in the order of the list.

use domain::ids::ProgramId;
use domain::reports::program_events::EventPlace;
use storage::reads::program_events::{self, Filter, PageRead, ProgramEvent};
use storage::snapshot;

use super::event_file::{Line, Lines, PIECE};
use crate::management::prelude::*;
use crate::management::workspace_limit::WorkspacePermit;

/// The events that have not been sent yet.
pub struct EventLines<L> {
    app: App,
    program_id: ProgramId,
    filter: Filter,
    with_commissions: bool,
    /// `None`: the file leaves out this event.
    view: fn(ProgramEvent) -> Option<L>,
    after: Option<EventPlace>,
    /// Whether everything was read.
    is_whole: bool,
    _permit: WorkspacePermit,
}

impl<L> EventLines<L> {
    pub fn new(
        app: App,
        program_id: ProgramId,
        filter: Filter,
        with_commissions: bool,
        permit: WorkspacePermit,
        view: fn(ProgramEvent) -> Option<L>,
    ) -> Self {
        Self {
            app,
            program_id,
            filter,
            with_commissions,
            view,
            after: None,
            is_whole: false,
            _permit: permit,
        }
    }
}

impl<L: Line> Lines for EventLines<L> {
    type Line = L;

    async fn piece(&mut self) -> Result<Vec<L>, ApiError> {
        let mut events = Vec::new();
        // A filter may reject every event of a piece.
        while events.is_empty() && !self.is_whole {
            if self.app.closing.is_cancelled() {
                return Err(ApiError::Overloaded);
            }
            let read = PageRead {
                program_id: self.program_id,
                filter: &self.filter,
                after: self.after,
                limit: i64::try_from(PIECE).unwrap_or(i64::MAX),
                with_commissions: self.with_commissions,
            };
            let mut connection = self.app.reads.acquire().await?;
            let mut snapshot = snapshot::begin(&mut connection).await?;
            let page = program_events::page(&mut snapshot, &read).await?;
            self.after = page.next;
            self.is_whole = page.next.is_none();
            events = page.events;
        }
        Ok(events.into_iter().filter_map(self.view).collect())
    }
}
