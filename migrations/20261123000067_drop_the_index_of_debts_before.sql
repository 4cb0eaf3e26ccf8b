-- no-transaction
-- Replaced by the index of the migration before this one, for the condition that the view has now.
DROP INDEX CONCURRENTLY commissions_membership_paid_and_changed;
