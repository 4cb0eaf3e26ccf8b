-- no-transaction
CREATE INDEX CONCURRENTLY commissions_paid_and_changed ON commissions (partner_program_id, currency) WHERE paid_at IS NOT NULL AND (deducted_cents > 0 OR adjusted_cents <> 0 OR adjusted_at IS NOT NULL);
