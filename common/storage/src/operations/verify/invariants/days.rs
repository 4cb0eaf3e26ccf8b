//! Days and the sums of their events: of all days, or of program `$3` from day `$1` up to, but not including,
//! day `$2`.
//!
//! `{days}` limits the stored rows. `{sums}` stands for the recomputed sums: the view that a rebuild writes,
//! or the same sums computed by index from the events of the slice. `customers` has no index by day, so
//! signups are found by their leads and purchases by their sales. Where retention has dropped the leads of a
//! month, signups are not compared (`{leads}`). `{refunds}` stands for the recomputed sums of refunds, in the
//! same two ways.

/// Values of the markers without a slice.
pub(super) const ALL: [&str; 4] = ["", "leads", "recomputed_sums", "recomputed_refunds"];

pub(super) const OF_A_SLICE: [&str; 4] = [
    "AND program_id = $3::bigint AND day >= $1::date AND day < $2::date",
    "CASE WHEN day >= (SELECT (min(lead_timestamp) AT TIME ZONE 'UTC')::date FROM lead_events WHERE program_id = $3::bigint AND NOT is_test)
          THEN leads ELSE 0 END",
    "(SELECT program_id, referral_link_id, (click_timestamp AT TIME ZONE 'UTC')::date AS day, '' AS currency, count(*) AS clicks, 0 AS leads,
             0 AS conversions, 0 AS partners, 0 AS sales, 0 AS revenue_cents, 0 AS commission_cents
      FROM click_events
      WHERE program_id = $3::bigint AND NOT is_test AND counted
        AND click_timestamp >= $1::date::timestamp AT TIME ZONE 'UTC' AND click_timestamp < $2::date::timestamp AT TIME ZONE 'UTC'
      GROUP BY 1, 2, 3
      UNION ALL
      SELECT program_id, referral_link_id, day, '', clicks, 0, 0, 0, 0, 0, 0 FROM retired_clicks
      WHERE program_id = $3::bigint AND day >= $1::date AND day < $2::date
      UNION ALL
      SELECT c.program_id, coalesce(c.signup_link_id, 0), (c.signup_date AT TIME ZONE 'UTC')::date, '', 0, count(DISTINCT c.id), 0, 0, 0, 0, 0
      FROM lead_events e JOIN customers c ON c.id = e.customer_id AND c.signup_date = e.lead_timestamp
      WHERE e.program_id = $3::bigint AND NOT e.is_test AND NOT e.provisional
        AND e.lead_timestamp >= $1::date::timestamp AT TIME ZONE 'UTC' AND e.lead_timestamp < $2::date::timestamp AT TIME ZONE 'UTC'
      GROUP BY 1, 2, 3
      UNION ALL
      SELECT c.program_id, coalesce(c.first_purchase_link_id, 0), (s.sale_date AT TIME ZONE 'UTC')::date, '', 0, 0, count(DISTINCT c.id),
             0, 0, 0, 0
      FROM sale_events s JOIN customers c ON c.id = s.customer_id AND c.first_purchase_date = s.sale_date
      WHERE s.program_id = $3::bigint AND NOT s.is_test AND s.duplicate_of IS NULL
        AND s.sale_date >= $1::date::timestamp AT TIME ZONE 'UTC' AND s.sale_date < $2::date::timestamp AT TIME ZONE 'UTC'
      GROUP BY 1, 2, 3
      UNION ALL
      SELECT program_id, 0, (created_at AT TIME ZONE 'UTC')::date, '', 0, 0, 0, count(*), 0, 0, 0
      FROM partner_programs
      WHERE program_id = $3::bigint
        AND created_at >= $1::date::timestamp AT TIME ZONE 'UTC' AND created_at < $2::date::timestamp AT TIME ZONE 'UTC'
      GROUP BY 1, 3
      UNION ALL
      SELECT program_id, coalesce(referral_link_id, 0), (sale_date AT TIME ZONE 'UTC')::date, currency, 0, 0, 0, 0, count(*),
             sum(amount_cents), 0
      FROM sale_events
      WHERE program_id = $3::bigint AND NOT is_test AND duplicate_of IS NULL
        AND sale_date >= $1::date::timestamp AT TIME ZONE 'UTC' AND sale_date < $2::date::timestamp AT TIME ZONE 'UTC'
      GROUP BY 1, 2, 3, 4
      UNION ALL
      SELECT program_id, referral_link_id, (created_at AT TIME ZONE 'UTC')::date, currency, 0, 0, 0, 0, 0, 0,
             sum(amount_cents - adjusted_cents)
      FROM commissions c
      WHERE program_id = $3::bigint AND superseded_at IS NULL AND sale_id IS NOT NULL AND NOT is_test
        AND created_at >= $1::date::timestamp AT TIME ZONE 'UTC' AND created_at < $2::date::timestamp AT TIME ZONE 'UTC'
        AND NOT EXISTS (SELECT 1 FROM sale_events s WHERE s.id = c.sale_id AND s.duplicate_of IS NOT NULL)
      GROUP BY 1, 2, 3, 4) sums",
    "(SELECT r.program_id, coalesce(s.referral_link_id, 0) AS referral_link_id, (r.refunded_at AT TIME ZONE 'UTC')::date AS day, s.currency,
             sum(r.effective_cents) AS refunded_cents, 0::bigint AS deducted_cents
      FROM refunds r JOIN sale_events s ON s.id = r.sale_id
      WHERE r.program_id = $3::bigint AND NOT s.is_test AND s.duplicate_of IS NULL
        AND r.refunded_at >= $1::date::timestamp AT TIME ZONE 'UTC' AND r.refunded_at < $2::date::timestamp AT TIME ZONE 'UTC'
      GROUP BY 1, 2, 3, 4
      UNION ALL
      SELECT l.program_id, c.referral_link_id, (r.refunded_at AT TIME ZONE 'UTC')::date, l.currency, 0,
             sum(CASE WHEN l.amount_cents > 0 THEN -l.requested_cents ELSE l.requested_cents END)
      FROM refunds r
      JOIN sale_events s ON s.id = r.sale_id
      JOIN commissions c ON c.sale_id = r.sale_id
      JOIN ledger_entries l ON l.commission_id = c.id AND l.entry_group = r.event_id
      WHERE r.program_id = $3::bigint AND s.duplicate_of IS NULL AND c.superseded_at IS NULL AND NOT c.is_test
        AND l.kind = 'reversal'
        AND r.refunded_at >= $1::date::timestamp AT TIME ZONE 'UTC' AND r.refunded_at < $2::date::timestamp AT TIME ZONE 'UTC'
      GROUP BY 1, 2, 3, 4
      UNION ALL
      SELECT l.program_id, c.referral_link_id, (l.created_at AT TIME ZONE 'UTC')::date, l.currency, 0,
             sum(CASE WHEN l.amount_cents > 0 THEN -l.requested_cents ELSE l.requested_cents END)
      FROM ledger_entries l
      JOIN commissions c ON c.id = l.commission_id
      JOIN sale_events s ON s.id = c.sale_id
      WHERE l.program_id = $3::bigint AND l.kind IN ('reversal', 'adjustment')
        AND l.created_at >= $1::date::timestamp AT TIME ZONE 'UTC' AND l.created_at < $2::date::timestamp AT TIME ZONE 'UTC'
        AND c.superseded_at IS NULL AND NOT c.is_test AND s.duplicate_of IS NULL
        AND NOT EXISTS (SELECT 1 FROM refunds r WHERE r.event_id = l.entry_group)
      GROUP BY 1, 2, 3, 4) refunds",
];

pub(super) const PROGRAMS: &str =
    "WITH kept AS (
       SELECT program_id, day, currency, ARRAY[sum(clicks), sum({leads}), sum(conversions), sum(partners), sum(sales),
              sum(revenue_cents), sum(commission_cents)] AS sums
       FROM (SELECT * FROM program_days WHERE true {days} UNION ALL
             SELECT program_id, day, currency, clicks, leads, conversions, partners, sales, revenue_cents,
                    commission_cents FROM rollup_deltas WHERE true {days}) k GROUP BY 1, 2, 3),
     recomputed AS (
       SELECT program_id, day, currency, ARRAY[sum(clicks), sum(leads), sum(conversions), sum(partners), sum(sales),
              sum(revenue_cents), sum(commission_cents)] AS sums
       FROM {sums} GROUP BY 1, 2, 3)
     SELECT format('program %s on %s %s: %s, its events add up to %s (clicks, leads, conversions, partners, sales, revenue, commission)',
                   program_id, day, currency, coalesce(k.sums, '{}'), coalesce(r.sums, '{}'))
     FROM kept k FULL JOIN recomputed r USING (program_id, day, currency)
     WHERE coalesce(k.sums, array_fill(0::numeric, ARRAY[7])) <> coalesce(r.sums, array_fill(0::numeric, ARRAY[7]))";

pub(super) const LINKS: &str =
    "WITH kept AS (
       SELECT referral_link_id, day, currency, ARRAY[sum(clicks), sum({leads}), sum(conversions), sum(sales),
              sum(revenue_cents), sum(commission_cents)] AS sums
       FROM (SELECT referral_link_id, day, currency, clicks, leads, conversions, sales, revenue_cents, commission_cents
             FROM link_days WHERE true {days} UNION ALL
             SELECT referral_link_id, day, currency, clicks, leads, conversions, sales, revenue_cents, commission_cents
             FROM rollup_deltas WHERE referral_link_id <> 0 {days}) k GROUP BY 1, 2, 3),
     recomputed AS (
       SELECT referral_link_id, day, currency, ARRAY[sum(clicks), sum(leads), sum(conversions), sum(sales),
              sum(revenue_cents), sum(commission_cents)] AS sums
       FROM {sums} WHERE referral_link_id <> 0 GROUP BY 1, 2, 3)
     SELECT format('link %s on %s %s: %s, its events add up to %s (clicks, leads, conversions, sales, revenue, commission)',
                   referral_link_id, day, currency, coalesce(k.sums, '{}'), coalesce(r.sums, '{}'))
     FROM kept k FULL JOIN recomputed r USING (referral_link_id, day, currency)
     WHERE coalesce(k.sums, array_fill(0::numeric, ARRAY[6])) <> coalesce(r.sums, array_fill(0::numeric, ARRAY[6]))";

pub(super) const REFUNDS_OF_PROGRAMS: &str =
    "WITH kept AS (
       SELECT program_id, day, currency, ARRAY[sum(refunded_cents), sum(deducted_cents)] AS sums
       FROM (SELECT program_id, day, currency, refunded_cents, deducted_cents FROM program_refund_days WHERE true {days} UNION ALL
             SELECT program_id, day, currency, refunded_cents, deducted_cents FROM refund_deltas WHERE true {days}) k GROUP BY 1, 2, 3),
     recomputed AS (
       SELECT program_id, day, currency, ARRAY[sum(refunded_cents), sum(deducted_cents)] AS sums FROM {refunds} GROUP BY 1, 2, 3)
     SELECT format('program %s on %s %s: %s, its refunds add up to %s (refunded, taken from commissions)',
                   program_id, day, currency, coalesce(k.sums, '{}'), coalesce(r.sums, '{}'))
     FROM kept k FULL JOIN recomputed r USING (program_id, day, currency)
     WHERE coalesce(k.sums, ARRAY[0, 0]) <> coalesce(r.sums, ARRAY[0, 0])";

pub(super) const REFUNDS_OF_LINKS: &str =
    "WITH kept AS (
       SELECT referral_link_id, day, currency, ARRAY[sum(refunded_cents), sum(deducted_cents)] AS sums
       FROM (SELECT referral_link_id, day, currency, refunded_cents, deducted_cents FROM link_refund_days WHERE true {days} UNION ALL
             SELECT referral_link_id, day, currency, refunded_cents, deducted_cents FROM refund_deltas
             WHERE referral_link_id <> 0 {days}) k GROUP BY 1, 2, 3),
     recomputed AS (
       SELECT referral_link_id, day, currency, ARRAY[sum(refunded_cents), sum(deducted_cents)] AS sums
       FROM {refunds} WHERE referral_link_id <> 0 GROUP BY 1, 2, 3)
     SELECT format('link %s on %s %s: %s, its refunds add up to %s (refunded, taken from commissions)',
                   referral_link_id, day, currency, coalesce(k.sums, '{}'), coalesce(r.sums, '{}'))
     FROM kept k FULL JOIN recomputed r USING (referral_link_id, day, currency)
     WHERE coalesce(k.sums, ARRAY[0, 0]) <> coalesce(r.sums, ARRAY[0, 0])";

/// Clicks by origin may be fewer than all clicks: days from before these sums existed have none.
pub(super) const ORIGINS: &str =
    "SELECT format('program %s on %s: %s clicks by %s, %s in all', program_id, day, o.clicks, origin, coalesce(d.clicks, 0))
     FROM (SELECT program_id, day, origin, sum(clicks) AS clicks
           FROM (SELECT program_id, day, origin, clicks FROM click_origin_days WHERE true {days} UNION ALL
                 SELECT program_id, day, origin, clicks FROM click_origin_deltas WHERE true {days}) k GROUP BY 1, 2, 3) o
     LEFT JOIN (SELECT program_id, day, sum(clicks) AS clicks
                FROM (SELECT program_id, day, clicks FROM program_days WHERE true {days} UNION ALL
                      SELECT program_id, day, clicks FROM rollup_deltas WHERE true {days}) k GROUP BY 1, 2) d USING (program_id, day)
     WHERE o.clicks > coalesce(d.clicks, 0)";

/// Customer by customer, because an index finds the sales of one.
pub(super) const CUSTOMER_MONTHS: &str =
    "SELECT format('customer %s in %s %s: %s, their sales add up to %s (sales, revenue, refunded, commission, taken from commissions)',
                   c.id, m.month, m.currency, coalesce(m.kept, '{}'), coalesce(m.due, '{}'))
     FROM {rows} c
     CROSS JOIN LATERAL (
       SELECT month, currency, k.sums AS kept, r.sums AS due
       FROM (SELECT month, currency, ARRAY[sum(sales), sum(revenue_cents), sum(refunded_cents), sum(commission_cents),
                    sum(deducted_cents)] AS sums
             FROM (SELECT month, currency, sales, revenue_cents, refunded_cents, commission_cents, deducted_cents
                   FROM customer_months WHERE program_id = c.program_id AND customer_id = c.id
                   UNION ALL
                   SELECT month, currency, sales, revenue_cents, refunded_cents, commission_cents, deducted_cents
                   FROM customer_month_deltas WHERE program_id = c.program_id AND customer_id = c.id) both_kinds GROUP BY 1, 2) k
       FULL JOIN (SELECT month, currency, ARRAY[sum(sales), sum(revenue_cents), sum(refunded_cents), sum(commission_cents),
                         sum(deducted_cents)] AS sums
                  FROM recomputed_customer_months WHERE program_id = c.program_id AND customer_id = c.id GROUP BY 1, 2) r
       USING (month, currency)) m
     WHERE coalesce(m.kept, array_fill(0::numeric, ARRAY[5])) <> coalesce(m.due, array_fill(0::numeric, ARRAY[5]))";

pub(super) const COHORTS: &str =
    "SELECT format('program %s, customers of %s in %s %s: %s, their months add up to %s (customers, sales, revenue, refunded, commission, taken)',
                   program_id, cohort, month, currency, coalesce(k.sums, '{}'), coalesce(r.sums, '{}'))
     FROM (SELECT program_id, cohort, month, currency, ARRAY[customers, sales, revenue_cents, refunded_cents, commission_cents,
                  deducted_cents]::numeric[] AS sums FROM program_cohorts) k
     FULL JOIN (SELECT program_id, cohort, month, currency, ARRAY[customers, sales, revenue_cents, refunded_cents, commission_cents,
                       deducted_cents]::numeric[] AS sums FROM recomputed_cohorts) r USING (program_id, cohort, month, currency)
     WHERE coalesce(k.sums, array_fill(0::numeric, ARRAY[6])) <> coalesce(r.sums, array_fill(0::numeric, ARRAY[6]))";
