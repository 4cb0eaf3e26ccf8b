-- no-transaction
-- The same of addresses.
DROP INDEX CONCURRENTLY partners_by_email;
