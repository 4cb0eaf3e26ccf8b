-- Commissions that an advertiser adds by hand: a bonus, or what a sale should have earned. They are of no sale, so they have no
-- customer, link or policy.
ALTER TABLE commissions
    ALTER COLUMN sale_id DROP NOT NULL,
    ALTER COLUMN customer_id DROP NOT NULL,
    ALTER COLUMN referral_link_id DROP NOT NULL,
    ALTER COLUMN policy_id DROP NOT NULL,
    ALTER COLUMN commission_type DROP NOT NULL,
    -- What the advertiser says about one added by hand; the partner reads it.
    ADD COLUMN note            text,
    -- A caller's own name for a commission added by hand: sent again, it is the same commission.
    ADD COLUMN idempotency_key text,
    -- Of the request that had the key.
    ADD COLUMN request_hash    bytea;
ALTER TABLE commissions ADD CONSTRAINT of_a_sale_or_by_hand CHECK (
    CASE WHEN sale_id IS NULL
         THEN num_nonnulls(customer_id, referral_link_id, policy_id, commission_type) = 0
              AND amount_cents = adjusted_cents AND deducted_cents = 0 AND note IS NOT NULL
         ELSE num_nulls(customer_id, referral_link_id, policy_id, commission_type) = 0 AND note IS NULL
    END) NOT VALID;
ALTER TABLE commissions VALIDATE CONSTRAINT of_a_sale_or_by_hand;
ALTER TABLE ledger_entries ALTER COLUMN sale_id DROP NOT NULL;

-- The sums again: a day's commission is what its sales earned, so it has none that were added by hand.
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
WHERE NOT is_test AND superseded_at IS NULL AND sale_id IS NOT NULL
  AND NOT EXISTS (SELECT 1 FROM sale_events s WHERE s.id = c.sale_id AND s.duplicate_of IS NOT NULL)
GROUP BY 1, 2, 3, 4;
