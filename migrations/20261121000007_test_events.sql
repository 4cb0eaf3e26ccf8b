-- Test events are rows of the event tables with is_test set and without a customer: nothing that counts, pays or
-- attributes can reach them. What a real event must have, it must still have; the checks below say so by row.

ALTER TABLE click_events
    ALTER COLUMN referral_link_id DROP NOT NULL,
    ALTER COLUMN customer_id DROP NOT NULL,
    ALTER COLUMN click_id DROP NOT NULL,
    ADD CONSTRAINT real_click_is_whole
        CHECK (is_test OR num_nulls(referral_link_id, customer_id, click_id) = 0);

ALTER TABLE lead_events
    ALTER COLUMN customer_id DROP NOT NULL,
    ALTER COLUMN click_id DROP NOT NULL,
    ADD CONSTRAINT real_lead_is_whole CHECK (is_test OR num_nulls(customer_id, click_id) = 0);

-- Zero is a test sale for which no amount was given.
ALTER TABLE sale_events
    ALTER COLUMN customer_id DROP NOT NULL,
    DROP CONSTRAINT sale_events_amount_cents_check,
    ADD CONSTRAINT sale_events_amount_cents_check CHECK (amount_cents > 0 OR (is_test AND amount_cents = 0)),
    ADD CONSTRAINT real_sale_is_whole CHECK (is_test OR customer_id IS NOT NULL);

-- A transaction_id is unique among real sales; test sales may use any, again and again, in any order.
CREATE UNIQUE INDEX sale_events_real_processor_event_id ON sale_events (processor_event_id) WHERE NOT is_test;
ALTER TABLE sale_events DROP CONSTRAINT sale_events_processor_event_id_key;

-- For the check of an installation, which asks for a program's latest few test events of each type.
CREATE INDEX click_events_test ON click_events (program_id, click_timestamp DESC) WHERE is_test;
CREATE INDEX lead_events_test ON lead_events (program_id, lead_timestamp DESC) WHERE is_test;
CREATE INDEX sale_events_test ON sale_events (program_id, sale_date DESC) WHERE is_test;
