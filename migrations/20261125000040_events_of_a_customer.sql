-- For exports and erasures: the events of a customer that the customer's row does not date. On the tables of all months only; `ctl migrate`
-- then makes them month by month, each without a lock (common::storage::partitions::make_indexes), and new months get them by being attached.
SET LOCAL lock_timeout = '2s';
-- A browser held this click_id and was taken for a new customer: few clicks have one.
CREATE INDEX click_events_held ON ONLY click_events (previous_click_id) WHERE previous_click_id IS NOT NULL;
-- Clicks of bots that their program excludes: no journey has them.
CREATE INDEX click_events_uncounted ON ONLY click_events (customer_id) WHERE NOT counted;
-- Leads are a fortieth of all events. A customer may have many provisional ones, and others may be under their key.
CREATE INDEX lead_events_customer ON ONLY lead_events (customer_id);
CREATE INDEX lead_events_customer_key ON ONLY lead_events (customer_key) WHERE customer_key IS NOT NULL;
