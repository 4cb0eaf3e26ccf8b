-- no-transaction
-- What was approved in a week.
CREATE INDEX CONCURRENTLY commissions_approved ON commissions (approved_at) WHERE approved_at IS NOT NULL;
