//! The times of customers' clicks, by which the clicks are found. An index by customer would cost more, at
//! thousands of clicks a second, than all requests for personal data.
//!
//! A customer's row has the times of the clicks in its journey. These are all clicks, unless the customer
//! clicked more than [`Journey::KEPT`] times. A small index has the times of bots' clicks that do not count.
//! The remaining clicks are searched hour by hour, between the first click and the oldest of the latest ones.

use std::collections::BTreeSet;

use chrono::{DateTime, TimeDelta, Utc};
use sqlx::PgConnection;

use crate::error::StorageResult;
use domain::ids::ProgramId;
use domain::tracking::attribution::Journey;

/// The range of one statement of the search: short, because a large program has a million clicks an hour.
const PIECE: TimeDelta = TimeDelta::hours(1);

/// A margin for the clocks of edges, which differ by far less.
pub(super) const CLOCK_SKEW: TimeDelta = TimeDelta::hours(1);

/// A range of times, both ends included.
type Span = (DateTime<Utc>, DateTime<Utc>);

#[derive(Debug, Default)]
pub(super) struct ClickedAt {
    pub times: BTreeSet<DateTime<Utc>>,
    /// By customer: the range that contains the clicks that the journey dropped.
    forgotten: Vec<(i64, Span)>,
}

/// Reads the times from the current rows of these customers.
pub(super) async fn read(connection: &mut PgConnection, customers: &[i64]) -> StorageResult<ClickedAt> {
    let mut clicked_at = ClickedAt::default();
    if customers.is_empty() {
        return Ok(clicked_at);
    }
    let rows = fetch_all!(
        &mut *connection,
        r#"SELECT id, first_click_at AS first, touched_at || coalesce(earlier_at, '{}') AS "touched_at!"
           FROM customers WHERE id = ANY($1)"#,
        customers,
    );
    for row in rows {
        let forgotten = forgotten(row.first, &row.touched_at);
        clicked_at.forgotten.extend(forgotten.map(|span| (row.id, span)));
        clicked_at.times.insert(row.first);
        clicked_at.times.extend(row.touched_at);
    }
    let uncounted = fetch_scalars!(
        connection,
        "SELECT click_timestamp FROM click_events WHERE customer_id = ANY($1) AND NOT counted AND click_timestamp >= $2",
        customers,
        clicked_at.times.first().map(|first| *first - CLOCK_SKEW),
    );
    clicked_at.times.extend(uncounted);
    Ok(clicked_at)
}

/// The range of time whose clicks the journey may lack, because it keeps the first and the latest ones.
fn forgotten(first: DateTime<Utc>, touched_at: &[DateTime<Utc>]) -> Option<Span> {
    let mut touched_at = touched_at.to_vec();
    touched_at.sort_unstable();
    let oldest = touched_at.len().checked_sub(Journey::KEPT)?;
    touched_at.get(oldest).map(|since| (first, *since))
}

/// Adds the clicks that journeys dropped. Calls `searching` with each hour before the search reads it.
pub(super) async fn add_forgotten(
    connection: &mut PgConnection,
    program_id: ProgramId,
    clicked_at: &mut ClickedAt,
    mut searching: impl FnMut(DateTime<Utc>),
) -> StorageResult<()> {
    for (customer, (first, last)) in &clicked_at.forgotten {
        let mut from = *first;
        while from <= *last {
            searching(from);
            let found = fetch_scalars!(
                &mut *connection,
                "SELECT click_timestamp FROM click_events
                 WHERE program_id = $1 AND NOT is_test AND click_timestamp >= $2 AND click_timestamp < $3 AND customer_id = $4",
                program_id.get(),
                from,
                from + PIECE,
                customer,
            );
            clicked_at.times.extend(found);
            from += PIECE;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(minutes: i64) -> DateTime<Utc> {
        DateTime::UNIX_EPOCH + TimeDelta::minutes(minutes)
    }

    #[test]
    fn a_journey_that_is_whole_has_forgotten_nothing() {
        let touched_at: Vec<_> = (1..100).map(at).collect();
        assert_eq!(forgotten(at(1), &touched_at), None);
    }

    #[test]
    fn what_a_full_journey_may_lack_is_older_than_its_latest_clicks() {
        // The order of the columns: each link's latest click, then the other clicks.
        let touched_at: Vec<_> = [at(7), at(250)].into_iter().chain((100..=199).map(at)).collect();
        assert_eq!(forgotten(at(1), &touched_at), Some((at(1), at(101))));
    }
}
