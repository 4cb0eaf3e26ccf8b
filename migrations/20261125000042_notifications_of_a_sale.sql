-- no-transaction
-- For exports and erasures: what a customer's refunds told others.
CREATE INDEX CONCURRENTLY notifications_sale ON notifications ((details ->> 'sale_id')) WHERE details ->> 'sale_id' IS NOT NULL;
