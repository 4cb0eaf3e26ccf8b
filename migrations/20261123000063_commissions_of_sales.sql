-- no-transaction
-- One commission of a sale and a membership is in force, as before; those of no sale are each their own.
CREATE UNIQUE INDEX CONCURRENTLY commissions_of_sales ON commissions (sale_id, partner_program_id, superseded_at, (CASE WHEN sale_id IS NULL THEN id END)) NULLS NOT DISTINCT;
