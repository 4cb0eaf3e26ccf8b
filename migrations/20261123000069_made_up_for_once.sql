-- no-transaction
-- A sale is made up for once to each partner, unless that was rejected.
CREATE UNIQUE INDEX CONCURRENTLY commissions_for_sale ON commissions (for_sale_id, partner_program_id) WHERE for_sale_id IS NOT NULL AND rejected_at IS NULL;
