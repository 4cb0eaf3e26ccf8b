-- no-transaction
-- The review queue: commissions with a signal that nobody has approved and nothing has paid, program by program.
CREATE INDEX CONCURRENTLY commissions_in_review ON commissions (program_id, id)
    WHERE signals <> '{}' AND approved_at IS NULL AND paid_at IS NULL AND status IN ('pending', 'refunded');
