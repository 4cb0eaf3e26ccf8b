-- no-transaction
-- For the verification of a program's days, which have what was refunded by day of the refund.
CREATE INDEX CONCURRENTLY refunds_of_a_day ON refunds (program_id, refunded_at);
