-- no-transaction
-- Replaced by commissions_held.
DROP INDEX CONCURRENTLY commissions_program_pending;
