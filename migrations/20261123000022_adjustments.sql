-- Commissions changed by hand: rejected, or adjusted by an amount. amount_cents says what was earned, adjustments included.
ALTER TABLE commissions
    -- Rejected by the advertiser: nothing is left of it, and its status is `reversed` whatever was refunded of its sale.
    ADD COLUMN rejected_at      timestamptz,
    -- The advertiser's own words; an erasure of the customer takes them away.
    ADD COLUMN rejection_reason text;
-- The sums again: a day's commission is what its sales earned, whatever was changed by hand later. One that was superseded counts
-- no more.
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
       sum(amount_cents - adjusted_cents)
FROM commissions c
WHERE NOT is_test AND superseded_at IS NULL
  AND NOT EXISTS (SELECT 1 FROM sale_events s WHERE s.id = c.sale_id AND s.duplicate_of IS NOT NULL)
GROUP BY 1, 2, 3, 4;
