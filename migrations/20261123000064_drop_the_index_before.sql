-- no-transaction
-- Replaced by the index of the migration before this one, which refuses the same of sales.
DROP INDEX CONCURRENTLY commissions_sale_membership;
