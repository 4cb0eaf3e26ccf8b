//! Reports claims that failed because another program holds the transaction_id. Either two ids are equal by
//! accident, or one program uses another program's ids.

use crate::metrics::CLAIMS_HELD_ELSEWHERE;

/// Counts the conflicts for the alert, and logs both programs. A conflict is `(program_id, held_by, claims)`.
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
