-- no-transaction
-- One commission of a sale and a membership is in force; any number of them may be superseded.
CREATE UNIQUE INDEX CONCURRENTLY commissions_sale_membership ON commissions (sale_id, partner_program_id, superseded_at) NULLS NOT DISTINCT;
