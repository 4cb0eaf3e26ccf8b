//! Claims that failed because another program holds the transaction_id: by accident, or because a program takes another's ids.

use crate::metrics::CLAIMS_HELD_ELSEWHERE;

/// Counts them, for the alert, and logs both programs. A conflict is `(program_id, held_by, claims)`.
pub fn report(conflicts: impl IntoIterator<Item = (i64, i64, u64)>) {
    for (program_id, held_by, claims) in conflicts {
        CLAIMS_HELD_ELSEWHERE.with([]).inc_by(claims);
        tracing::warn!(
            program_id,
            held_by,
            claims,
            "transaction_ids of a program are held by another program"
        );
    }
}
