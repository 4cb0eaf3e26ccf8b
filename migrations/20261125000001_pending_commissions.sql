-- no-transaction
-- The hold period's queue, program by program: what a program approves by hand is not passed over each minute.
CREATE INDEX CONCURRENTLY commissions_held ON commissions (program_id, hold_until) WHERE status = 'pending';
