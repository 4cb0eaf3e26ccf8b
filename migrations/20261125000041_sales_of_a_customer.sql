-- no-transaction
-- For exports, erasures and `ctl verify`, which compare a customer with its sales.
CREATE INDEX CONCURRENTLY sale_events_customer ON sale_events (customer_id);
