-- What was given back, by UTC day: revenue that was refunded, and what was taken from commissions.
--
-- Tables of their own beside those of what was earned. A worker of the release before folds deltas and knows no more columns than it
-- writes: it would drop what others count. What such a worker itself refunds is counted by `ctl rollups rebuild` after the rollout.
SET LOCAL lock_timeout = '2s';

CREATE TABLE refund_deltas (
    id               bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    program_id       bigint NOT NULL,
    -- The sale's or the commission's; 0 for what is no link's.
    referral_link_id bigint NOT NULL,
    -- UTC.
    day              date   NOT NULL,
    currency         text   NOT NULL,
    refunded_cents   bigint NOT NULL,
    -- From commissions of sales, before the clamp of the balance. What was added by hand is subtracted.
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

-- Each movement that took from a commission of a sale that is in force, or added to it by hand. A refund's counts on the day of the refund,
-- every other one on the day it was posted.
CREATE VIEW counted_deductions AS
SELECT l.entry_group, l.commission_id, c.sale_id, l.program_id, c.referral_link_id, l.currency,
       (coalesce(r.refunded_at, l.created_at) AT TIME ZONE 'UTC')::date AS day,
       CASE WHEN l.amount_cents > 0 THEN -l.requested_cents ELSE l.requested_cents END AS cents
FROM ledger_entries l
JOIN commissions c ON c.id = l.commission_id
LEFT JOIN refunds r ON r.event_id = l.entry_group
WHERE l.account = 'partner' AND l.kind IN ('reversal', 'adjustment')
  AND c.sale_id IS NOT NULL AND c.superseded_at IS NULL AND NOT c.is_test;

-- The sums again, from the rows they count. A sale that was undone counts no more, and neither does what was given back of it.
CREATE VIEW recomputed_refunds AS
SELECT r.program_id, coalesce(s.referral_link_id, 0) AS referral_link_id, (r.refunded_at AT TIME ZONE 'UTC')::date AS day, s.currency,
       sum(r.effective_cents) AS refunded_cents, 0::bigint AS deducted_cents
FROM refunds r JOIN sale_events s ON s.id = r.sale_id
WHERE NOT s.is_test AND s.duplicate_of IS NULL GROUP BY 1, 2, 3, 4
UNION ALL
SELECT d.program_id, d.referral_link_id, d.day, d.currency, 0, sum(d.cents)
FROM counted_deductions d
WHERE NOT EXISTS (SELECT 1 FROM sale_events s WHERE s.id = d.sale_id AND s.duplicate_of IS NOT NULL)
GROUP BY 1, 2, 3, 4;

-- Programs that are there already start with their days.
INSERT INTO program_refund_days
SELECT program_id, day, currency, least(sum(refunded_cents), 9223372036854775807), least(sum(deducted_cents), 9223372036854775807)
FROM recomputed_refunds GROUP BY 1, 2, 3;
INSERT INTO link_refund_days
SELECT referral_link_id, day, currency, min(program_id), least(sum(refunded_cents), 9223372036854775807),
       least(sum(deducted_cents), 9223372036854775807)
FROM recomputed_refunds WHERE referral_link_id <> 0 GROUP BY 1, 2, 3;
