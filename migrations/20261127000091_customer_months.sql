-- Customers by the month of their first sale, and what they brought in each month after it.
--
-- Steps append what a customer's sales, refunds and commissions add up to. A fold puts it into the customer's months, and what these change
-- into the program's cohorts: a sale that turns out to be the first, or to be none, moves all months of its customer to another cohort.
-- What a worker of the release before records is counted by `ctl rollups rebuild` after the rollout.
SET LOCAL lock_timeout = '2s';

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
    -- From commissions, before the clamp of the balance. What was added by hand is subtracted.
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
    -- Empty: those who bought, in whatever currency.
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

-- What deltas change of the cohorts: those up to an id, of a program or (NULL) of all. The months of their customers as they are count
-- against it, and as they become for it.
CREATE FUNCTION cohort_changes(of_program bigint, up_to bigint)
RETURNS TABLE (program_id bigint, cohort date, month date, currency text, customers bigint, sales numeric, revenue_cents numeric,
               refunded_cents numeric, commission_cents numeric, deducted_cents numeric)
LANGUAGE sql STABLE AS $$
    WITH added AS (
        SELECT d.program_id, d.customer_id, d.month, d.currency, sum(d.sales) AS sales, sum(d.revenue_cents) AS revenue_cents,
               sum(d.refunded_cents) AS refunded_cents, sum(d.commission_cents) AS commission_cents,
               sum(d.deducted_cents) AS deducted_cents
        FROM customer_month_deltas d
        WHERE d.id <= up_to AND (of_program IS NULL OR d.program_id = of_program)
        GROUP BY 1, 2, 3, 4
    ), known AS (
        SELECT m.program_id, m.customer_id, m.month, m.currency, m.sales::numeric, m.revenue_cents::numeric, m.refunded_cents::numeric,
               m.commission_cents::numeric, m.deducted_cents::numeric
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
        SELECT s.*, min(s.month) FILTER (WHERE s.sales > 0) OVER (PARTITION BY s.sign, s.program_id, s.customer_id) AS cohort
        FROM (SELECT -1 AS sign, k.* FROM known k UNION ALL SELECT 1, b.* FROM becoming b) s
    )
    SELECT s.program_id, s.cohort, greatest(s.month, s.cohort), s.currency, 0::bigint, sum(s.sign * s.sales), sum(s.sign * s.revenue_cents),
           sum(s.sign * s.refunded_cents), sum(s.sign * s.commission_cents), sum(s.sign * s.deducted_cents)
    FROM sides s WHERE s.cohort IS NOT NULL GROUP BY 1, 2, 3, 4
    UNION ALL
    SELECT s.program_id, s.cohort, s.month, '', count(DISTINCT s.customer_id) FILTER (WHERE s.sign > 0)
           - count(DISTINCT s.customer_id) FILTER (WHERE s.sign < 0), 0, 0, 0, 0, 0
    FROM sides s WHERE s.sales > 0 GROUP BY 1, 2, 3
$$;

-- The customers' months again, from the rows they count: as recomputed_sums and recomputed_refunds, by customer and month.
CREATE VIEW recomputed_customer_months AS
SELECT program_id, customer_id, date_trunc('month', sale_date AT TIME ZONE 'UTC')::date AS month, currency, count(*) AS sales,
       sum(amount_cents) AS revenue_cents, 0::numeric AS refunded_cents, 0::numeric AS commission_cents, 0::numeric AS deducted_cents
FROM sale_events WHERE NOT is_test AND duplicate_of IS NULL GROUP BY 1, 2, 3, 4
UNION ALL
SELECT s.program_id, s.customer_id, date_trunc('month', r.refunded_at AT TIME ZONE 'UTC')::date, s.currency, 0, 0, sum(r.effective_cents), 0, 0
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
    SELECT *, min(month) FILTER (WHERE sales > 0) OVER (PARTITION BY program_id, customer_id) AS cohort FROM customer_months
)
SELECT program_id, cohort, greatest(month, cohort) AS month, currency, 0::bigint AS customers, sum(sales) AS sales,
       sum(revenue_cents) AS revenue_cents, sum(refunded_cents) AS refunded_cents, sum(commission_cents) AS commission_cents,
       sum(deducted_cents) AS deducted_cents
FROM dated WHERE cohort IS NOT NULL GROUP BY 1, 2, 3, 4
UNION ALL
SELECT program_id, cohort, month, '', count(DISTINCT customer_id), 0, 0, 0, 0, 0 FROM dated WHERE sales > 0 GROUP BY 1, 2, 3;

-- Programs that are there already start with their months.
INSERT INTO customer_months
SELECT program_id, customer_id, month, currency, sum(sales), least(sum(revenue_cents), 9223372036854775807),
       least(sum(refunded_cents), 9223372036854775807), least(sum(commission_cents), 9223372036854775807),
       least(sum(deducted_cents), 9223372036854775807)
FROM recomputed_customer_months GROUP BY 1, 2, 3, 4;
INSERT INTO program_cohorts
SELECT program_id, cohort, month, currency, customers, sales, least(revenue_cents, 9223372036854775807),
       least(refunded_cents, 9223372036854775807), least(commission_cents, 9223372036854775807),
       least(deducted_cents, 9223372036854775807)
FROM recomputed_cohorts;
