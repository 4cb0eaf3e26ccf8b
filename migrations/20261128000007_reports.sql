-- What the dashboard reads instead of counting events.
--
-- Every batch that writes events appends what they add up to, one row a program, link, day and currency, in
-- its own transaction: no row is updated, so none is a bottleneck, and the sums are as exact as the events.
-- The worker folds these deltas into the days they belong to, each delta once; a reader adds the days and the
-- deltas that are left, in one statement.
--
-- The views at the end are the same sums from the rows they count: `ctl verify` compares with them, and
-- `ctl rollups rebuild` writes them.
--
-- A table of deltas is a queue that is emptied every second: by default its dead rows would collect until
-- they are a fifth of the table.

-- A name without its case, in any language, whatever the database's own: lists are searched by it.
CREATE FUNCTION folded(text) RETURNS text LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
AS $$ SELECT lower($1 COLLATE "und-x-icu") $$;

CREATE TABLE rollup_deltas (
    id               bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    program_id       bigint NOT NULL,
    -- The link that is credited; 0 for what is no link's.
    referral_link_id bigint NOT NULL DEFAULT 0,
    -- UTC.
    day              date   NOT NULL,
    -- Of the amounts; empty for rows that only count.
    currency         text   NOT NULL DEFAULT '',
    clicks           bigint NOT NULL DEFAULT 0,
    leads            bigint NOT NULL DEFAULT 0,
    conversions      bigint NOT NULL DEFAULT 0,
    partners         bigint NOT NULL DEFAULT 0,
    sales            bigint NOT NULL DEFAULT 0,
    revenue_cents    bigint NOT NULL DEFAULT 0,
    commission_cents bigint NOT NULL DEFAULT 0
) WITH (
    autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000,
    autovacuum_vacuum_insert_scale_factor = 0, autovacuum_vacuum_insert_threshold = 20000,
    autovacuum_analyze_scale_factor = 0, autovacuum_analyze_threshold = 20000,
    autovacuum_vacuum_cost_delay = 0);
CREATE INDEX rollup_deltas_program ON rollup_deltas (program_id, day);

-- A program's day: the sum over its links.
CREATE TABLE program_days (
    program_id       bigint NOT NULL,
    day              date   NOT NULL,
    currency         text   NOT NULL,
    clicks           bigint NOT NULL,
    leads            bigint NOT NULL,
    conversions      bigint NOT NULL,
    partners         bigint NOT NULL,
    sales            bigint NOT NULL,
    revenue_cents    bigint NOT NULL,
    commission_cents bigint NOT NULL,
    PRIMARY KEY (program_id, day, currency)
) WITH (fillfactor = 70);

-- A link's day. A partner's is the sum over the links of their membership.
CREATE TABLE link_days (
    referral_link_id bigint NOT NULL,
    day              date   NOT NULL,
    currency         text   NOT NULL,
    program_id       bigint NOT NULL,
    clicks           bigint NOT NULL,
    leads            bigint NOT NULL,
    conversions      bigint NOT NULL,
    sales            bigint NOT NULL,
    revenue_cents    bigint NOT NULL,
    commission_cents bigint NOT NULL,
    PRIMARY KEY (referral_link_id, day, currency)
) WITH (fillfactor = 70);
CREATE INDEX link_days_program ON link_days (program_id, day);

-- What was given back, by UTC day: revenue that was refunded, and what was taken from commissions.
CREATE TABLE refund_deltas (
    id               bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    program_id       bigint NOT NULL,
    -- The sale's or the commission's; 0 for what is no link's.
    referral_link_id bigint NOT NULL,
    -- UTC.
    day              date   NOT NULL,
    currency         text   NOT NULL,
    refunded_cents   bigint NOT NULL,
    -- From commissions of sales, before any limit by the balance. What was added by hand is subtracted.
    deducted_cents   bigint NOT NULL
) WITH (
    autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000,
    autovacuum_vacuum_insert_scale_factor = 0, autovacuum_vacuum_insert_threshold = 20000,
    autovacuum_analyze_scale_factor = 0, autovacuum_analyze_threshold = 20000);
CREATE INDEX refund_deltas_program ON refund_deltas (program_id, day);

CREATE TABLE program_refund_days (
    program_id     bigint NOT NULL,
    day            date   NOT NULL,
    currency       text   NOT NULL,
    refunded_cents bigint NOT NULL,
    deducted_cents bigint NOT NULL,
    PRIMARY KEY (program_id, day, currency)
) WITH (fillfactor = 70);

CREATE TABLE link_refund_days (
    referral_link_id bigint NOT NULL,
    day              date   NOT NULL,
    currency         text   NOT NULL,
    program_id       bigint NOT NULL,
    refunded_cents   bigint NOT NULL,
    deducted_cents   bigint NOT NULL,
    PRIMARY KEY (referral_link_id, day, currency)
) WITH (fillfactor = 70);
CREATE INDEX link_refund_days_program ON link_refund_days (program_id, day);

-- Clicks by country, device and referrer, by UTC day: years of raw clicks cannot be counted while a dashboard
-- waits.
CREATE TABLE click_origin_deltas (
    id         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    program_id bigint NOT NULL,
    -- UTC.
    day        date   NOT NULL,
    -- country, device or referrer.
    origin     text   NOT NULL,
    -- Empty: not known.
    value      text   NOT NULL,
    clicks     bigint NOT NULL
) WITH (
    autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000,
    autovacuum_vacuum_insert_scale_factor = 0, autovacuum_vacuum_insert_threshold = 20000,
    autovacuum_analyze_scale_factor = 0, autovacuum_analyze_threshold = 20000,
    autovacuum_vacuum_cost_delay = 0);
CREATE INDEX click_origin_deltas_program ON click_origin_deltas (program_id, origin, day);

-- The most frequent values of each day and origin (storage::reads::click_origins), and the rest as one.
CREATE TABLE click_origin_days (
    program_id bigint NOT NULL,
    origin     text   NOT NULL,
    day        date   NOT NULL,
    value      text   NOT NULL,
    clicks     bigint NOT NULL,
    PRIMARY KEY (program_id, origin, day, value)
) WITH (fillfactor = 70);

-- Customers by the month of their first sale, and what they brought in each month after it.
--
-- Steps append what a customer's sales, refunds and commissions add up to. A fold adds it to the customer's
-- months, and the changes of these to the program's cohorts: a sale that turns out to be the first, or a sale
-- that is undone, moves all months of its customer to another cohort.
CREATE TABLE customer_month_deltas (
    id               bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    program_id       bigint NOT NULL,
    customer_id      bigint NOT NULL,
    -- Its first day, UTC.
    month            date   NOT NULL,
    currency         text   NOT NULL,
    sales            bigint NOT NULL,
    revenue_cents    bigint NOT NULL,
    refunded_cents   bigint NOT NULL,
    commission_cents bigint NOT NULL,
    -- As in refund_deltas.
    deducted_cents   bigint NOT NULL
) WITH (
    autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000,
    autovacuum_vacuum_insert_scale_factor = 0, autovacuum_vacuum_insert_threshold = 20000,
    autovacuum_analyze_scale_factor = 0, autovacuum_analyze_threshold = 20000);
CREATE INDEX customer_month_deltas_customer ON customer_month_deltas (program_id, customer_id);

CREATE TABLE customer_months (
    program_id       bigint NOT NULL,
    customer_id      bigint NOT NULL,
    month            date   NOT NULL,
    currency         text   NOT NULL,
    sales            bigint NOT NULL,
    revenue_cents    bigint NOT NULL,
    refunded_cents   bigint NOT NULL,
    commission_cents bigint NOT NULL,
    deducted_cents   bigint NOT NULL,
    PRIMARY KEY (program_id, customer_id, month, currency)
) WITH (fillfactor = 90);

CREATE TABLE program_cohorts (
    program_id       bigint NOT NULL,
    -- The month of the first sale.
    cohort           date   NOT NULL,
    -- Never before the cohort.
    month            date   NOT NULL,
    -- Empty: the number of customers, in whatever currency they bought.
    currency         text   NOT NULL,
    -- Who bought in this month; 0 beside amounts.
    customers        bigint NOT NULL,
    sales            bigint NOT NULL,
    revenue_cents    bigint NOT NULL,
    refunded_cents   bigint NOT NULL,
    commission_cents bigint NOT NULL,
    deducted_cents   bigint NOT NULL,
    PRIMARY KEY (program_id, cohort, month, currency)
) WITH (fillfactor = 70);

-- What deltas change of the cohorts: those up to an id, of a program or (NULL) of all. Their customers'
-- months as they are now are subtracted, and as they will be are added.
CREATE FUNCTION cohort_changes(of_program bigint, up_to bigint)
RETURNS TABLE (program_id bigint, cohort date, month date, currency text, customers bigint, sales numeric,
               revenue_cents numeric, refunded_cents numeric, commission_cents numeric, deducted_cents numeric)
LANGUAGE sql STABLE AS $$
    WITH added AS (
        SELECT d.program_id, d.customer_id, d.month, d.currency, sum(d.sales) AS sales,
               sum(d.revenue_cents) AS revenue_cents, sum(d.refunded_cents) AS refunded_cents,
               sum(d.commission_cents) AS commission_cents, sum(d.deducted_cents) AS deducted_cents
        FROM customer_month_deltas d
        WHERE d.id <= up_to AND (of_program IS NULL OR d.program_id = of_program)
        GROUP BY 1, 2, 3, 4
    ), known AS (
        SELECT m.program_id, m.customer_id, m.month, m.currency, m.sales::numeric, m.revenue_cents::numeric,
               m.refunded_cents::numeric, m.commission_cents::numeric, m.deducted_cents::numeric
        FROM (SELECT DISTINCT a.program_id, a.customer_id FROM added a) a
        JOIN customer_months m ON m.program_id = a.program_id AND m.customer_id = a.customer_id
    ), becoming AS (
        SELECT b.program_id, b.customer_id, b.month, b.currency, sum(b.sales) AS sales,
               least(sum(b.revenue_cents), 9223372036854775807) AS revenue_cents,
               least(sum(b.refunded_cents), 9223372036854775807) AS refunded_cents,
               least(sum(b.commission_cents), 9223372036854775807) AS commission_cents,
               least(sum(b.deducted_cents), 9223372036854775807) AS deducted_cents
        FROM (SELECT * FROM known UNION ALL SELECT * FROM added) b GROUP BY 1, 2, 3, 4
    ), sides AS (
        SELECT s.*,
               min(s.month) FILTER (WHERE s.sales > 0)
                   OVER (PARTITION BY s.sign, s.program_id, s.customer_id) AS cohort
        FROM (SELECT -1 AS sign, k.* FROM known k UNION ALL SELECT 1, b.* FROM becoming b) s
    )
    SELECT s.program_id, s.cohort, greatest(s.month, s.cohort), s.currency, 0::bigint, sum(s.sign * s.sales),
           sum(s.sign * s.revenue_cents), sum(s.sign * s.refunded_cents), sum(s.sign * s.commission_cents),
           sum(s.sign * s.deducted_cents)
    FROM sides s WHERE s.cohort IS NOT NULL GROUP BY 1, 2, 3, 4
    UNION ALL
    SELECT s.program_id, s.cohort, s.month, '', count(DISTINCT s.customer_id) FILTER (WHERE s.sign > 0)
           - count(DISTINCT s.customer_id) FILTER (WHERE s.sign < 0), 0, 0, 0, 0, 0
    FROM sides s WHERE s.sales > 0 GROUP BY 1, 2, 3
$$;

-- The days again, from the rows they count. A key may occur several times. A sale that was undone does not
-- count. A day's commission is what its sales earned: neither changes by hand nor commissions that were added
-- by hand or superseded count.
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
SELECT program_id, coalesce(first_purchase_link_id, 0), (first_purchase_date AT TIME ZONE 'UTC')::date, '', 0, 0,
       count(*), 0, 0, 0, 0
FROM customers WHERE first_purchase_date IS NOT NULL GROUP BY 1, 2, 3
UNION ALL
SELECT program_id, 0, (created_at AT TIME ZONE 'UTC')::date, '', 0, 0, 0, count(*), 0, 0, 0
FROM partner_programs GROUP BY 1, 3
UNION ALL
SELECT program_id, coalesce(referral_link_id, 0), (sale_date AT TIME ZONE 'UTC')::date, currency, 0, 0, 0, 0, count(*),
       sum(amount_cents), 0
FROM sale_events WHERE NOT is_test AND duplicate_of IS NULL GROUP BY 1, 2, 3, 4
UNION ALL
SELECT program_id, referral_link_id, (created_at AT TIME ZONE 'UTC')::date, currency, 0, 0, 0, 0, 0, 0,
       sum(amount_cents - adjusted_cents)
FROM commissions c
WHERE NOT is_test AND superseded_at IS NULL AND sale_id IS NOT NULL
  AND NOT EXISTS (SELECT 1 FROM sale_events s WHERE s.id = c.sale_id AND s.duplicate_of IS NOT NULL)
GROUP BY 1, 2, 3, 4;

-- Each movement that took from a commission of a sale that is in force, or added to it by hand. A refund's
-- counts on the day of the refund, every other one on the day it was posted.
CREATE VIEW counted_deductions AS
SELECT l.entry_group, l.commission_id, c.sale_id, l.program_id, c.referral_link_id, l.currency,
       (coalesce(r.refunded_at, l.created_at) AT TIME ZONE 'UTC')::date AS day,
       CASE WHEN l.amount_cents > 0 THEN -l.requested_cents ELSE l.requested_cents END AS cents
FROM ledger_entries l
JOIN commissions c ON c.id = l.commission_id
LEFT JOIN refunds r ON r.event_id = l.entry_group
WHERE l.kind IN ('reversal', 'adjustment')
  AND c.sale_id IS NOT NULL AND c.superseded_at IS NULL AND NOT c.is_test;

-- What was given back again, by day. Of a sale that was undone, that does not count either.
CREATE VIEW recomputed_refunds AS
SELECT r.program_id, coalesce(s.referral_link_id, 0) AS referral_link_id,
       (r.refunded_at AT TIME ZONE 'UTC')::date AS day, s.currency,
       sum(r.effective_cents) AS refunded_cents, 0::bigint AS deducted_cents
FROM refunds r JOIN sale_events s ON s.id = r.sale_id
WHERE NOT s.is_test AND s.duplicate_of IS NULL GROUP BY 1, 2, 3, 4
UNION ALL
SELECT d.program_id, d.referral_link_id, d.day, d.currency, 0, sum(d.cents)
FROM counted_deductions d
WHERE NOT EXISTS (SELECT 1 FROM sale_events s WHERE s.id = d.sale_id AND s.duplicate_of IS NOT NULL)
GROUP BY 1, 2, 3, 4;

-- The customers' months again: as recomputed_sums and recomputed_refunds, by customer and month.
CREATE VIEW recomputed_customer_months AS
SELECT program_id, customer_id, date_trunc('month', sale_date AT TIME ZONE 'UTC')::date AS month, currency,
       count(*) AS sales, sum(amount_cents) AS revenue_cents, 0::numeric AS refunded_cents,
       0::numeric AS commission_cents, 0::numeric AS deducted_cents
FROM sale_events WHERE NOT is_test AND duplicate_of IS NULL GROUP BY 1, 2, 3, 4
UNION ALL
SELECT s.program_id, s.customer_id, date_trunc('month', r.refunded_at AT TIME ZONE 'UTC')::date, s.currency, 0, 0,
       sum(r.effective_cents), 0, 0
FROM sale_events s JOIN refunds r ON r.sale_id = s.id
WHERE NOT s.is_test AND s.duplicate_of IS NULL GROUP BY 1, 2, 3, 4
UNION ALL
SELECT s.program_id, s.customer_id, date_trunc('month', c.created_at AT TIME ZONE 'UTC')::date, c.currency, 0, 0, 0,
       sum(c.amount_cents - c.adjusted_cents), 0
FROM sale_events s JOIN commissions c ON c.sale_id = s.id
WHERE NOT c.is_test AND c.superseded_at IS NULL AND s.duplicate_of IS NULL GROUP BY 1, 2, 3, 4
UNION ALL
SELECT s.program_id, s.customer_id, date_trunc('month', d.day)::date, d.currency, 0, 0, 0, 0, sum(d.cents)
FROM sale_events s JOIN counted_deductions d ON d.sale_id = s.id
WHERE s.duplicate_of IS NULL GROUP BY 1, 2, 3, 4;

-- The cohorts again, from the customers' months.
CREATE VIEW recomputed_cohorts AS
WITH dated AS (
    SELECT *, min(month) FILTER (WHERE sales > 0) OVER (PARTITION BY program_id, customer_id) AS cohort
    FROM customer_months
)
SELECT program_id, cohort, greatest(month, cohort) AS month, currency, 0::bigint AS customers, sum(sales) AS sales,
       sum(revenue_cents) AS revenue_cents, sum(refunded_cents) AS refunded_cents,
       sum(commission_cents) AS commission_cents, sum(deducted_cents) AS deducted_cents
FROM dated WHERE cohort IS NOT NULL GROUP BY 1, 2, 3, 4
UNION ALL
SELECT program_id, cohort, month, '', count(DISTINCT customer_id), 0, 0, 0, 0, 0
FROM dated WHERE sales > 0 GROUP BY 1, 2, 3;
