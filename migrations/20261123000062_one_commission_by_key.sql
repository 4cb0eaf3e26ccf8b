-- no-transaction
CREATE UNIQUE INDEX CONCURRENTLY commissions_idempotency_key ON commissions (program_id, idempotency_key) WHERE idempotency_key IS NOT NULL;
