//! Claims the transaction_ids of sales that processor events report, as ingest does for sales that callers
//! report.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use domain::ids::EventId;
use messages::outbound_event::processor_event::ProcessorEventNeedsReview;
use runtime::claim_conflicts;
use sqlx::PgConnection;
use storage::StorageResult;
use storage::processor::processor_events::{self, Ending, Part, Reason};
use storage::tracking::claims::{self, Claim, ClaimState, NewClaim};

use crate::records::{Outgoing, Records};

/// Pause before a sale is retried whose transaction_id another sale holds. Most sales are settled within a
/// second.
const CLAIMED_PAUSE: Duration = Duration::from_secs(5);

/// Claims the sales, and returns the records to publish now.
///
/// If another sale holds the transaction_id, this sale is published once the other one is recorded: the sale
/// step recognises the repeat, and takes from it the subscription and the customer_key, which only the
/// processor may know. Until then the other sale may still be refused (a caller may have named the wrong
/// customer), so this sale waits, unless it `is_late`. A late sale needs review; it is added to `for_review`
/// if its program wants that as an outbound event.
pub async fn claim(
    connection: &mut PgConnection,
    records: Vec<Records>,
    is_late: impl Fn(EventId) -> bool,
    for_review: &mut Vec<ProcessorEventNeedsReview>,
) -> StorageResult<Outgoing> {
    let mut outgoing = Outgoing::default();
    let (mut wanted, mut encoded) = (Vec::new(), Vec::new());
    for Records { sale, payment } in records {
        outgoing.payments.extend(payment);
        if let Some(sale) = sale {
            wanted.push(sale.claim);
            encoded.push(sale.record);
        }
    }
    if wanted.is_empty() {
        return Ok(outgoing);
    }
    let won = claims::claim(&mut *connection, &wanted).await?;
    let lost: Vec<&NewClaim> = wanted
        .iter()
        .zip(&won)
        .filter(|(_, won)| !**won)
        .map(|(claim, _)| claim)
        .collect();
    let conflicts = claims::conflicts(&mut *connection, &lost).await?;
    claim_conflicts::report(conflicts.iter().map(|lost| {
        (
            lost.program_id.get(),
            lost.held_by.get(),
            lost.claims.unsigned_abs(),
        )
    }));
    let recorded = end_lost(connection, &lost, is_late, for_review).await?;
    let records = encoded.into_iter().zip(&wanted).zip(won);
    outgoing.sales = records
        .filter(|((_, claim), won)| *won || recorded.contains(&claim.event_id))
        .map(|((record, _), _)| record)
        .collect();
    Ok(outgoing)
}

/// Ends or parks the events of sales that lost their claim. Returns the sales to publish all the same,
/// because their payment is recorded.
async fn end_lost(
    connection: &mut PgConnection,
    lost: &[&NewClaim],
    is_late: impl Fn(EventId) -> bool,
    for_review: &mut Vec<ProcessorEventNeedsReview>,
) -> StorageResult<HashSet<EventId>> {
    let mut recorded = HashSet::new();
    if lost.is_empty() {
        return Ok(recorded);
    }
    let ids: Vec<&str> = lost.iter().map(|claim| claim.transaction_id.as_str()).collect();
    let holders = claims::lock(connection, &ids).await?;
    let holders: HashMap<&str, &Claim> = holders
        .iter()
        .map(|claim| (claim.transaction_id.as_str(), claim))
        .collect();
    let endings: Vec<(EventId, Ending)> = lost
        .iter()
        .filter_map(|claim| {
            let holder = holders.get(claim.transaction_id.as_str());
            let ending = match holder.map(|holder| holder.state) {
                Some(ClaimState::Recorded(_)) => {
                    if holder.is_some_and(|holder| holder.program_id == claim.program_id) {
                        recorded.insert(claim.event_id);
                        return None;
                    }
                    Ending::Done(Some(Reason::Duplicate))
                }
                _ if is_late(claim.event_id) => Ending::Stuck(Reason::Claimed),
                _ => Ending::Parked {
                    reason: Reason::Claimed,
                    waits_for: None,
                    look_again: None,
                    retry: Some(CLAIMED_PAUSE),
                },
            };
            Some((claim.event_id, ending))
        })
        .collect();
    for_review.extend(processor_events::end(connection, Part::Sale, &endings).await?);
    Ok(recorded)
}
