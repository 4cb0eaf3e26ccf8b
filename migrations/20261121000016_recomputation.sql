-- What rollups are recomputed from: `ctl verify` compares with it, `ctl rollups rebuild` writes it.

-- Which link a customer's steps were counted under; NULL: none. A later click moves attribution, not what was counted.
ALTER TABLE customers
    ADD COLUMN signup_link_id         bigint,
    ADD COLUMN first_purchase_link_id bigint;
-- The last link a sale credited, also where nobody was due a commission.
ALTER TABLE sale_events ADD COLUMN referral_link_id bigint;

-- Sales from before this column: the link of the commission they were answered with, else the customer's latest click.
UPDATE sale_events s
SET referral_link_id = coalesce(
    (SELECT c.referral_link_id FROM commissions c WHERE c.sale_id = s.id ORDER BY c.id DESC LIMIT 1),
    (SELECT c.touched_link_ids[cardinality(c.touched_link_ids)] FROM customers c WHERE c.id = s.customer_id))
WHERE NOT s.is_test;
UPDATE customers c
SET signup_link_id = CASE WHEN signup_date IS NOT NULL THEN touched_link_ids[cardinality(touched_link_ids)] END,
    first_purchase_link_id = CASE WHEN first_purchase_date IS NOT NULL THEN coalesce(
        (SELECT s.referral_link_id FROM sale_events s WHERE s.customer_id = c.id AND NOT s.is_test
         ORDER BY s.sale_date, s.id LIMIT 1),
        touched_link_ids[cardinality(touched_link_ids)]) END
WHERE signup_date IS NOT NULL OR first_purchase_date IS NOT NULL;

-- Clicks whose events retention has dropped. What is counted stays counted.
CREATE TABLE retired_clicks (
    referral_link_id bigint      NOT NULL,
    -- UTC.
    day              date        NOT NULL,
    program_id       bigint      NOT NULL,
    clicks           bigint      NOT NULL,
    last_clicked     timestamptz NOT NULL,
    PRIMARY KEY (referral_link_id, day, program_id)
);
CREATE INDEX retired_clicks_program ON retired_clicks (program_id);

-- The sums again, from the rows they count. A key may stand several times.
CREATE VIEW recomputed_sums AS
SELECT program_id, referral_link_id, (click_timestamp AT TIME ZONE 'UTC')::date AS day, '' AS currency,
       count(*) AS clicks, 0::bigint AS leads, 0::bigint AS conversions, 0::bigint AS partners, 0::bigint AS sales,
       0::bigint AS revenue_cents, 0::bigint AS commission_cents
FROM click_events WHERE counted AND NOT is_test GROUP BY 1, 2, 3
UNION ALL
SELECT program_id, referral_link_id, day, '', clicks, 0, 0, 0, 0, 0, 0 FROM retired_clicks
UNION ALL
SELECT program_id, coalesce(signup_link_id, 0), (signup_date AT TIME ZONE 'UTC')::date, '', 0, count(*), 0, 0, 0, 0, 0
FROM customers WHERE signup_date IS NOT NULL GROUP BY 1, 2, 3
UNION ALL
SELECT program_id, coalesce(first_purchase_link_id, 0), (first_purchase_date AT TIME ZONE 'UTC')::date, '', 0, 0, count(*),
       0, 0, 0, 0
FROM customers WHERE first_purchase_date IS NOT NULL GROUP BY 1, 2, 3
UNION ALL
SELECT program_id, 0, (created_at AT TIME ZONE 'UTC')::date, '', 0, 0, 0, count(*), 0, 0, 0
FROM partner_programs GROUP BY 1, 3
UNION ALL
SELECT program_id, coalesce(referral_link_id, 0), (sale_date AT TIME ZONE 'UTC')::date, currency, 0, 0, 0, 0, count(*),
       sum(amount_cents), 0
FROM sale_events WHERE NOT is_test GROUP BY 1, 2, 3, 4
UNION ALL
SELECT program_id, referral_link_id, (created_at AT TIME ZONE 'UTC')::date, currency, 0, 0, 0, 0, 0, 0,
       sum(amount_cents)
FROM commissions WHERE NOT is_test GROUP BY 1, 2, 3, 4;

-- A queue that is emptied every second: without this its dead rows would pile up until a fifth of the table is dead.
ALTER TABLE rollup_deltas SET (
    autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000,
    autovacuum_vacuum_insert_scale_factor = 0, autovacuum_vacuum_insert_threshold = 20000,
    autovacuum_analyze_scale_factor = 0, autovacuum_analyze_threshold = 20000,
    autovacuum_vacuum_cost_delay = 0);

-- Programs that are there already start with their days.
INSERT INTO program_days
SELECT program_id, day, currency, sum(clicks), sum(leads), sum(conversions), sum(partners), sum(sales),
       sum(revenue_cents), sum(commission_cents)
FROM recomputed_sums GROUP BY 1, 2, 3;
INSERT INTO link_days
SELECT referral_link_id, day, currency, min(program_id), sum(clicks), sum(leads), sum(conversions), sum(sales),
       sum(revenue_cents), sum(commission_cents)
FROM recomputed_sums WHERE referral_link_id <> 0 GROUP BY 1, 2, 3;

-- Drops the oldest event partition that ends before `horizon`, and keeps of its clicks what counters and rollups rest on.
-- Returns its name, or NULL when there is none.
CREATE FUNCTION retire_event_partition(horizon date) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    partition_name text;
    parent         text;
BEGIN
    -- One worker at a time, and not while partitions are made.
    PERFORM pg_advisory_xact_lock(hashtext('ensure_event_partitions'));
    SELECT c.relname, p.relname INTO partition_name, parent
    FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid JOIN pg_class p ON p.oid = i.inhparent
    WHERE p.oid IN ('click_events'::regclass, 'lead_events'::regclass) AND c.relname ~ '_y[0-9]{4}m[0-9]{2}$'
      AND to_date(right(c.relname, 7), 'YYYY"m"MM') + interval '1 month' <= horizon
    ORDER BY right(c.relname, 7), c.relname LIMIT 1;
    IF NOT FOUND THEN
        RETURN NULL;
    END IF;
    -- No late click may slip in between its sum and the drop.
    EXECUTE format('LOCK TABLE %I IN SHARE MODE', partition_name);
    IF parent = 'click_events' THEN
        EXECUTE format(
            'INSERT INTO retired_clicks AS r
             SELECT referral_link_id, (click_timestamp AT TIME ZONE ''UTC'')::date, program_id, count(*), max(click_timestamp)
             FROM %I WHERE counted AND NOT is_test GROUP BY 1, 2, 3
             ON CONFLICT (referral_link_id, day, program_id) DO UPDATE SET
                 clicks = r.clicks + excluded.clicks, last_clicked = greatest(r.last_clicked, excluded.last_clicked)',
            partition_name);
    END IF;
    EXECUTE format('DROP TABLE %I', partition_name);
    RETURN partition_name;
END $$;
