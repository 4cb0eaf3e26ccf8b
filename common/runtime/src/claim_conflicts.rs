//! Claims that failed because another program holds the transaction_id: by accident, or because a program takes another's ids.

use crate::metrics::CLAIMS_HELD_ELSEWHERE;

/// Counts them, for the alert, and logs both programs.
pub fn report(program_id: i64, held_by: i64, claims: u64) {
    CLAIMS_HELD_ELSEWHERE.with([]).inc_by(claims);
    tracing::warn!(
        program_id,
        held_by,
        claims,
        "transaction_ids of a program are held by another program"
    );
}
