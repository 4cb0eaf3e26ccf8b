-- A payment is judged as of its own time, whenever its event arrives.

ALTER TABLE customers
    -- The clicks of the journey that are not their link's latest; those are in touched_link_ids and touched_at. NULL: none.
    ADD COLUMN earlier_link_ids   bigint[],
    ADD COLUMN earlier_at         timestamptz[],
    -- The latest sale by its own time: a click from before it changes whom that sale credits. NULL: not known.
    ADD COLUMN last_purchase_date timestamptz;

ALTER TABLE sale_events
    -- The model that credited it; a later change of the program's does not reach back. NULL: recorded before this column.
    ADD COLUMN attribution_model text CHECK (attribution_model IN ('last_click', 'first_click', 'linear'));

ALTER TABLE commissions
    -- The sale was credited again, because an earlier click or payment became known after it: this commission is taken back,
    -- and what is due instead is another row, or nothing.
    ADD COLUMN superseded_at timestamptz;

-- Subscriptions that began without a payment: a trial, or a full discount. Renewals follow whom the customer was credited to then.
CREATE TABLE subscription_starts (
    program_id      bigint      NOT NULL,
    subscription_id text        NOT NULL,
    started_at      timestamptz NOT NULL,
    PRIMARY KEY (program_id, subscription_id)
);

-- The sums again, from the rows they count: a commission that was superseded counts no more.
CREATE OR REPLACE VIEW recomputed_sums AS
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
FROM sale_events WHERE NOT is_test AND duplicate_of IS NULL GROUP BY 1, 2, 3, 4
UNION ALL
SELECT program_id, referral_link_id, (created_at AT TIME ZONE 'UTC')::date, currency, 0, 0, 0, 0, 0, 0,
       sum(amount_cents)
FROM commissions c
WHERE NOT is_test AND superseded_at IS NULL
  AND NOT EXISTS (SELECT 1 FROM sale_events s WHERE s.id = c.sale_id AND s.duplicate_of IS NOT NULL)
GROUP BY 1, 2, 3, 4;
