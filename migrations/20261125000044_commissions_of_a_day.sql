-- no-transaction
-- For the verification of a program's days, which have what was earned by day of the commission.
CREATE INDEX CONCURRENTLY commissions_of_a_day ON commissions (program_id, created_at) WHERE superseded_at IS NULL AND sale_id IS NOT NULL;
