//! Claiming the transaction_ids of sales that events report, as the edge does for those that callers report.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use domain::ids::EventId;
use runtime::claim_conflicts;
use sqlx::PgConnection;
use storage::StorageResult;
use storage::claims::{self, Claim, ClaimState, NewClaim};
use storage::processor_events::{self, Ending, Part, Reason};

use crate::records::{Outgoing, Records};

/// When a sale is looked at again whose transaction_id somebody else holds: decided it is within a second, commonly.
const CLAIMED_PAUSE: Duration = Duration::from_secs(5);

/// Claims, and says what is to be published now.
///
/// A sale whose transaction_id is taken goes on when that one is recorded: the sale step recognises it, and learns the
/// subscription and the customer's key that only the processor may have named. As long as it is not recorded, it may still be
/// refused (a caller may have named the wrong customer), so this one waits, unless it `is_late`.
pub async fn claim(
    connection: &mut PgConnection,
    records: Vec<Records>,
    is_late: impl Fn(EventId) -> bool,
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
    for conflict in conflicts {
        claim_conflicts::report(conflict.program_id.get(), conflict.held_by.get(), conflict.claims);
    }
    let recorded = end_lost(connection, &lost, is_late).await?;
    let records = encoded.into_iter().zip(&wanted).zip(won);
    outgoing.sales = records
        .filter(|((_, claim), won)| *won || recorded.contains(&claim.event_id))
        .map(|((record, _), _)| record)
        .collect();
    Ok(outgoing)
}

/// Ends or parks what was lost, except what goes on because its payment is recorded: that is returned.
async fn end_lost(
    connection: &mut PgConnection,
    lost: &[&NewClaim],
    is_late: impl Fn(EventId) -> bool,
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
    processor_events::end(connection, Part::Sale, &endings).await?;
    Ok(recorded)
}
