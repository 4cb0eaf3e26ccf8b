//! Each invariant as a query that must return no row.

/// One rule, and how to find what breaks it.
#[derive(Debug, Clone, Copy)]
pub struct Invariant {
    pub name: &'static str,
    /// Selects one text column: a description of each offending row.
    pub(super) query: &'static str,
}

pub const INVARIANTS: &[Invariant] = &[
    Invariant {
        name: "one sale per transaction_id, held by its claim",
        query: "SELECT format('sale %s, transaction %s: claim %s', s.id, s.processor_event_id, coalesce(c.state, 'missing'))
                FROM sale_events s LEFT JOIN transaction_claims c ON c.transaction_id = s.processor_event_id
                WHERE NOT s.is_test AND c.sale_id IS DISTINCT FROM coalesce(s.duplicate_of, s.id)
                UNION ALL
                SELECT format('claim %s names sale %s, which does not exist', c.transaction_id, c.sale_id)
                FROM transaction_claims c LEFT JOIN sale_events s ON s.id = c.sale_id
                WHERE c.state = 'recorded' AND s.id IS NULL",
    },
    Invariant {
        name: "one commission per sale, unless the program splits them",
        query: "SELECT format('sale %s has %s commissions', s.id, count(*))
                FROM commissions c JOIN sale_events s ON s.id = c.sale_id
                WHERE c.superseded_at IS NULL AND s.attribution_model <> 'linear' AND s.subscription_id IS NULL
                GROUP BY s.id HAVING count(*) > 1",
    },
    Invariant {
        name: "commissions by percentage come to their policy's share of what earns",
        query: "SELECT format('sale %s: commissions of %s, %s basis points of %s', s.id, sum(c.amount_cents - c.adjusted_cents), min(c.rate_bps),
                              coalesce(s.commissionable_cents, s.amount_cents))
                FROM commissions c JOIN sale_events s ON s.id = c.sale_id
                WHERE c.rate_bps IS NOT NULL AND c.superseded_at IS NULL
                GROUP BY s.id
                HAVING sum(c.amount_cents - c.adjusted_cents) <> round(coalesce(s.commissionable_cents, s.amount_cents)::numeric * min(c.rate_bps) / 10000)",
    },
    Invariant {
        name: "a sale has a commission or a reason why not",
        query: "SELECT format('sale %s: commissions %s, reason %s', s.id, count(c.id), coalesce(s.no_commission_reason, 'none'))
                FROM sale_events s LEFT JOIN commissions c ON c.sale_id = s.id AND c.superseded_at IS NULL WHERE NOT s.is_test
                GROUP BY s.id HAVING (count(c.id) > 0) = (s.no_commission_reason IS NOT NULL)",
    },
    Invariant {
        name: "a row of the program's side, from an earlier release, mirrors one of the partner's",
        // Each its own one: the rows of one side less those of the other. Movements of this release have no such row.
        query: "SELECT format('group %s, commission %s: %s of %s %s on the program''s side, and no such one on the partner''s',
                              entry_group, commission_id, kind, moved, currency)
                FROM (SELECT entry_group, commission_id, kind, program_id, partner_program_id, partner_id, sale_id, currency,
                             -amount_cents AS moved, requested_cents, shortfall_cents
                      FROM ledger_entries WHERE account = 'program'
                      EXCEPT ALL
                      SELECT entry_group, commission_id, kind, program_id, partner_program_id, partner_id, sale_id, currency,
                             amount_cents, requested_cents, shortfall_cents
                      FROM ledger_entries WHERE account = 'partner') alone",
    },
    Invariant {
        name: "partner-program balance = sum of its ledger entries",
        query: "SELECT format('partner-program %s %s: balance %s, ledger %s', id, currency, balance, ledger) FROM (
                  SELECT coalesce(b.partner_program_id, l.partner_program_id) AS id, coalesce(b.currency, l.currency) AS currency,
                         coalesce(b.balance_cents, 0) AS balance, coalesce(l.cents, 0) AS ledger
                  FROM partner_program_balances b
                  FULL JOIN (SELECT partner_program_id, currency, sum(amount_cents) AS cents FROM ledger_entries
                             WHERE account = 'partner' GROUP BY 1, 2) l
                       ON l.partner_program_id = b.partner_program_id AND l.currency = b.currency) d
                WHERE balance <> ledger",
    },
    Invariant {
        name: "partner balance = sum of its ledger entries",
        query: "SELECT format('partner %s %s: balance %s, ledger %s', id, currency, balance, ledger) FROM (
                  SELECT coalesce(b.partner_id, l.partner_id) AS id, coalesce(b.currency, l.currency) AS currency,
                         coalesce(b.balance_cents, 0) AS balance, coalesce(l.cents, 0) AS ledger
                  FROM partner_balances b
                  FULL JOIN (SELECT partner_id, currency, sum(amount_cents) AS cents FROM ledger_entries
                             WHERE account = 'partner' GROUP BY 1, 2) l
                       ON l.partner_id = b.partner_id AND l.currency = b.currency) d
                WHERE balance <> ledger",
    },
    Invariant {
        name: "a commission's accrual is in the ledger, and what refunds took from it",
        query: "SELECT format('commission %s: amount %s, accrued %s, adjusted %s (ledger: %s), deducted %s, reversals requested %s', c.id,
                              c.amount_cents, coalesce(l.accrued, 0), c.adjusted_cents, coalesce(l.adjusted, 0),
                              c.deducted_cents, coalesce(l.requested, 0))
                FROM commissions c
                LEFT JOIN (SELECT commission_id, sum(amount_cents) FILTER (WHERE kind = 'accrual') AS accrued,
                                  sum(CASE WHEN amount_cents > 0 THEN requested_cents ELSE -requested_cents END)
                                      FILTER (WHERE kind = 'adjustment') AS adjusted,
                                  sum(requested_cents) FILTER (WHERE kind = 'reversal') AS requested
                           FROM ledger_entries WHERE account = 'partner' GROUP BY 1) l ON l.commission_id = c.id
                WHERE coalesce(l.accrued, 0) + c.adjusted_cents <> c.amount_cents OR coalesce(l.adjusted, 0) <> c.adjusted_cents
                   OR coalesce(l.requested, 0) <> c.deducted_cents",
    },
    Invariant {
        name: "the effective refund of a sale is the sum of its refunds, and within the sale",
        query: "SELECT format('sale %s of %s: refunded %s by API, %s by processor, %s by its refunds', s.id, s.amount_cents,
                              s.api_refunded_cents, s.processor_refunded_cents, coalesce(sum(r.effective_cents), 0))
                FROM sale_events s LEFT JOIN refunds r ON r.sale_id = s.id
                GROUP BY s.id
                HAVING least(s.amount_cents, greatest(s.api_refunded_cents, s.processor_refunded_cents))
                       <> coalesce(sum(r.effective_cents), 0)",
    },
    Invariant {
        name: "a commission's deduction is its exact share of the refund",
        query: "SELECT format('commission %s of %s: deducted %s, due %s', c.id, c.amount_cents, c.deducted_cents, d.due)
                FROM commissions c JOIN sale_events s ON s.id = c.sale_id
                CROSS JOIN LATERAL (SELECT round(c.amount_cents::numeric
                    * least(s.amount_cents, greatest(s.api_refunded_cents, s.processor_refunded_cents)) / nullif(s.amount_cents, 0)) AS due) d
                -- What was changed by hand between refunds was another amount before: it only stays within bounds.
                WHERE c.adjusted_cents = 0 AND c.deducted_cents <> d.due AND c.superseded_at IS NULL
                UNION ALL
                SELECT format('commission %s is superseded, and %s of %s taken back', id, deducted_cents, amount_cents)
                FROM commissions WHERE superseded_at IS NOT NULL AND (deducted_cents <> amount_cents OR status <> 'reversed')",
    },
    Invariant {
        name: "a commission's status agrees with its sale's refunds",
        query: "SELECT format('commission %s is %s, %s of %s refunded', c.id, c.status, e.refunded, s.amount_cents)
                FROM commissions c JOIN sale_events s ON s.id = c.sale_id
                CROSS JOIN LATERAL (SELECT least(s.amount_cents,
                    greatest(s.api_refunded_cents, s.processor_refunded_cents)) AS refunded) e
                WHERE c.superseded_at IS NULL
                  AND ((c.status = 'reversed') <> (e.refunded = s.amount_cents OR c.rejected_at IS NOT NULL)
                       OR (c.status = 'refunded') <> (e.refunded > 0 AND e.refunded < s.amount_cents AND c.rejected_at IS NULL)
                       OR (c.rejected_at IS NOT NULL AND c.amount_cents > c.deducted_cents)
                       OR (c.status = 'paid' AND c.paid_at IS NULL))",
    },
    Invariant {
        name: "a commission added by hand was approved with it, and is paid or rejected",
        query: "SELECT format('commission %s is %s, approved at %s, rejected at %s', id, status, coalesce(approved_at::text, 'no time'),
                              coalesce(rejected_at::text, 'no time'))
                FROM commissions
                WHERE sale_id IS NULL
                  AND (approved_at IS NULL OR status NOT IN ('approved', 'paid', 'reversed')
                       OR (status = 'reversed') <> (rejected_at IS NOT NULL) OR rejected_at IS NOT NULL AND amount_cents > 0)",
    },
    Invariant {
        name: "a balance is negative only after a paid commission was reversed",
        query: "SELECT format('partner-program %s: %s %s', b.partner_program_id, b.balance_cents, b.currency)
                FROM partner_program_balances b
                WHERE b.balance_cents < 0 AND NOT EXISTS (
                    SELECT 1 FROM commissions c WHERE c.partner_program_id = b.partner_program_id
                    AND c.currency = b.currency AND c.paid_at IS NOT NULL
                    AND (c.deducted_cents > 0 OR c.adjusted_cents < 0 OR c.adjusted_at IS NOT NULL))",
    },
    Invariant {
        name: "no more is owed to a partner than is left of their unpaid commissions",
        query: "SELECT format('partner-program %s: balance %s %s, unpaid %s', b.partner_program_id, b.balance_cents, b.currency,
                              coalesce(u.cents, 0))
                FROM partner_program_balances b
                LEFT JOIN (SELECT partner_program_id, currency, sum(amount_cents - deducted_cents) AS cents FROM commissions
                           WHERE paid_at IS NULL GROUP BY 1, 2) u
                     ON u.partner_program_id = b.partner_program_id AND u.currency = b.currency
                WHERE b.balance_cents > coalesce(u.cents, 0)",
    },
    Invariant {
        name: "a payout holds back what is owed, and moves money only when nothing more is",
        // Taken back after it was paid, less what payouts held back, in the order of the ledger. The release before this
        // rule let clamping forgive debts.
        query: "SELECT format('partner-program %s, ledger entry %s: %s %s moved, then owes %s', partner_program_id, id,
                              -amount_cents, currency, debt)
                FROM (SELECT l.id, l.partner_program_id, l.currency, l.kind, l.amount_cents, l.created_at,
                             sum(CASE WHEN l.kind = 'payout' THEN -l.shortfall_cents
                                      WHEN l.amount_cents > 0 THEN -l.requested_cents ELSE l.requested_cents END)
                                 OVER (PARTITION BY l.partner_program_id, l.currency ORDER BY l.id) AS debt
                      FROM ledger_entries l
                      LEFT JOIN ledger_entries p ON p.commission_id = l.commission_id AND p.kind = 'payout'
                                                AND p.account = 'partner'
                      WHERE l.account = 'partner'
                        AND (l.kind = 'payout' OR l.kind IN ('reversal', 'adjustment') AND p.id < l.id)) d
                WHERE debt < 0 OR kind = 'payout' AND amount_cents < 0 AND debt > 0
                      AND created_at > (SELECT installed_on FROM _sqlx_migrations WHERE version = 20261123000020)",
    },
    Invariant {
        name: "a payout is the sum of its partners' ledger entries, one a commission",
        query: "SELECT format('payout %s: %s %s for %s commissions, %s entries of %s, %s commissions', p.id, p.amount_cents,
                              p.currency, p.commission_count, coalesce(l.entries, 0), coalesce(l.cents, 0), coalesce(c.commissions, 0))
                FROM payouts p
                LEFT JOIN (SELECT entry_group, currency, -sum(amount_cents) AS cents, count(*) AS entries FROM ledger_entries
                           WHERE kind = 'payout' AND account = 'partner' GROUP BY 1, 2) l
                     ON l.entry_group = p.event_id AND l.currency = p.currency
                LEFT JOIN (SELECT payout_id, count(*) AS commissions FROM commissions GROUP BY 1) c ON c.payout_id = p.id
                WHERE p.amount_cents <> coalesce(l.cents, 0) OR p.commission_count <> coalesce(l.entries, 0)
                   OR p.commission_count <> coalesce(c.commissions, 0)
                UNION ALL
                SELECT format('ledger entry %s is of no payout', l.id)
                FROM ledger_entries l LEFT JOIN payouts p ON p.event_id = l.entry_group
                WHERE l.kind = 'payout' AND p.id IS NULL",
    },
    Invariant {
        name: "a commission is paid by one payout, of its program and currency",
        query: "SELECT format('commission %s: paid at %s, payout %s', id, coalesce(paid_at::text, 'no time'),
                              coalesce(payout_id::text, 'none'))
                FROM commissions WHERE (paid_at IS NULL) <> (payout_id IS NULL)
                UNION ALL
                SELECT format('commission %s of program %s in %s: payout %s of %s in %s', c.id, c.program_id, c.currency, p.id,
                              p.program_id, p.currency)
                FROM commissions c JOIN payouts p ON p.id = c.payout_id
                WHERE p.program_id <> c.program_id OR p.currency <> c.currency",
    },
    Invariant {
        name: "a payout pays what refunds had left of a commission, once",
        query: "SELECT format('commission %s: %s payouts requested %s, %s was left', c.id, count(l.id), coalesce(sum(l.requested_cents), 0),
                              max(d.remaining))
                FROM commissions c
                LEFT JOIN ledger_entries l ON l.commission_id = c.id AND l.kind = 'payout' AND l.account = 'partner'
                LEFT JOIN LATERAL (SELECT sum(CASE WHEN r.amount_cents > 0 THEN r.requested_cents ELSE -r.requested_cents END) AS remaining
                                   FROM ledger_entries r WHERE r.commission_id = c.id AND r.kind IN ('accrual', 'reversal', 'adjustment')
                                   AND r.account = 'partner' AND r.id < l.id) d ON true
                WHERE c.paid_at IS NOT NULL
                GROUP BY c.id HAVING count(l.id) <> 1 OR sum(l.requested_cents) <> max(d.remaining)",
    },
    Invariant {
        name: "sale, customer, commission and partner are of one program",
        query: "SELECT format('sale %s of program %s: customer of %s', s.id, s.program_id, coalesce(c.program_id::text, 'nothing'))
                FROM sale_events s LEFT JOIN customers c ON c.id = s.customer_id
                WHERE NOT s.is_test AND c.program_id IS DISTINCT FROM s.program_id
                UNION ALL
                SELECT format('commission %s of program %s: sale of %s, membership of %s', c.id, c.program_id, s.program_id, p.program_id)
                FROM commissions c LEFT JOIN sale_events s ON s.id = c.sale_id
                LEFT JOIN partner_programs p ON p.id = c.partner_program_id
                WHERE c.sale_id IS NOT NULL AND s.program_id IS DISTINCT FROM c.program_id OR p.program_id IS DISTINCT FROM c.program_id",
    },
    Invariant {
        name: "no test row earns anything",
        query: "SELECT format('ledger entry %s belongs to test sale %s', l.id, l.sale_id)
                FROM ledger_entries l JOIN sale_events s ON s.id = l.sale_id WHERE s.is_test
                UNION ALL SELECT format('commission %s is a test row', id) FROM commissions WHERE is_test
                UNION ALL SELECT format('commission %s belongs to test sale %s', c.id, c.sale_id)
                FROM commissions c JOIN sale_events s ON s.id = c.sale_id WHERE s.is_test",
    },
    Invariant {
        name: "no test row takes a transaction_id, a refund or a subscription",
        query: "SELECT format('claim %s names test sale %s', c.transaction_id, c.sale_id)
                FROM transaction_claims c JOIN sale_events s ON s.id = c.sale_id WHERE s.is_test
                UNION ALL SELECT format('refund %s belongs to test sale %s', r.id, r.sale_id)
                FROM refunds r JOIN sale_events s ON s.id = r.sale_id WHERE s.is_test
                UNION ALL SELECT format('subscription %s began with test sale %s', u.subscription_id, u.first_sale_id)
                FROM subscriptions u JOIN sale_events s ON s.id = u.first_sale_id WHERE s.is_test",
    },
    Invariant {
        name: "a link's clicks and last_clicked agree with its real click events that count",
        query: "SELECT format('link %s: %s clicks until %s, events say %s until %s', l.id, l.clicks, l.last_clicked,
                              coalesce(e.clicks, 0), e.last_clicked)
                FROM referral_links l
                LEFT JOIN (SELECT referral_link_id, sum(clicks) AS clicks, max(last_clicked) AS last_clicked FROM (
                             SELECT referral_link_id, count(*) AS clicks, max(click_timestamp) AS last_clicked
                             FROM click_events WHERE NOT is_test AND counted GROUP BY 1
                             UNION ALL SELECT referral_link_id, clicks, last_clicked FROM retired_clicks) k
                           GROUP BY 1) e ON e.referral_link_id = l.id
                WHERE l.clicks <> coalesce(e.clicks, 0) OR l.last_clicked IS DISTINCT FROM e.last_clicked",
    },
    Invariant {
        name: "a membership's clicks agree with those of its links",
        query: "SELECT format('partner-program %s: %s clicks, its links have %s', p.id, p.clicks, coalesce(l.clicks, 0))
                FROM partner_programs p
                LEFT JOIN (SELECT partner_program_id, sum(clicks) AS clicks FROM referral_links GROUP BY 1) l
                     ON l.partner_program_id = p.id
                WHERE p.clicks <> coalesce(l.clicks, 0)",
    },
    Invariant {
        name: "a program's days are what its events add up to",
        query: "WITH kept AS (
                  SELECT program_id, day, currency, ARRAY[sum(clicks), sum(leads), sum(conversions), sum(partners), sum(sales),
                         sum(revenue_cents), sum(commission_cents)] AS sums
                  FROM (SELECT * FROM program_days UNION ALL
                        SELECT program_id, day, currency, clicks, leads, conversions, partners, sales, revenue_cents,
                               commission_cents FROM rollup_deltas) k GROUP BY 1, 2, 3),
                recomputed AS (
                  SELECT program_id, day, currency, ARRAY[sum(clicks), sum(leads), sum(conversions), sum(partners), sum(sales),
                         sum(revenue_cents), sum(commission_cents)] AS sums
                  FROM recomputed_sums GROUP BY 1, 2, 3)
                SELECT format('program %s on %s %s: %s, its events add up to %s (clicks, leads, conversions, partners, sales, revenue, commission)',
                              program_id, day, currency, coalesce(k.sums, '{}'), coalesce(r.sums, '{}'))
                FROM kept k FULL JOIN recomputed r USING (program_id, day, currency)
                WHERE coalesce(k.sums, array_fill(0::numeric, ARRAY[7])) <> coalesce(r.sums, array_fill(0::numeric, ARRAY[7]))",
    },
    Invariant {
        name: "a link's days are what its events add up to",
        query: "WITH kept AS (
                  SELECT referral_link_id, day, currency, ARRAY[sum(clicks), sum(leads), sum(conversions), sum(sales),
                         sum(revenue_cents), sum(commission_cents)] AS sums
                  FROM (SELECT referral_link_id, day, currency, clicks, leads, conversions, sales, revenue_cents, commission_cents
                        FROM link_days UNION ALL
                        SELECT referral_link_id, day, currency, clicks, leads, conversions, sales, revenue_cents, commission_cents
                        FROM rollup_deltas WHERE referral_link_id <> 0) k GROUP BY 1, 2, 3),
                recomputed AS (
                  SELECT referral_link_id, day, currency, ARRAY[sum(clicks), sum(leads), sum(conversions), sum(sales),
                         sum(revenue_cents), sum(commission_cents)] AS sums
                  FROM recomputed_sums WHERE referral_link_id <> 0 GROUP BY 1, 2, 3)
                SELECT format('link %s on %s %s: %s, its events add up to %s (clicks, leads, conversions, sales, revenue, commission)',
                              referral_link_id, day, currency, coalesce(k.sums, '{}'), coalesce(r.sums, '{}'))
                FROM kept k FULL JOIN recomputed r USING (referral_link_id, day, currency)
                WHERE coalesce(k.sums, array_fill(0::numeric, ARRAY[6])) <> coalesce(r.sums, array_fill(0::numeric, ARRAY[6]))",
    },
    Invariant {
        name: "a customer's status agrees with its dates and events",
        query: "SELECT format('customer %s is %s: signup %s, first purchase %s', id, status, signup_date, first_purchase_date)
                FROM customers
                WHERE (status = 'conversion') <> (first_purchase_date IS NOT NULL)
                   OR (status = 'lead' AND signup_date IS NULL) OR (status = 'click' AND signup_date IS NOT NULL)
                UNION ALL
                SELECT format('customer %s bought on %s, its first sale is of %s', c.id, c.first_purchase_date, s.first_sale)
                FROM customers c
                LEFT JOIN (SELECT customer_id, min(sale_date) AS first_sale FROM sale_events
                           WHERE NOT is_test AND duplicate_of IS NULL GROUP BY 1) s
                     ON s.customer_id = c.id
                WHERE c.first_purchase_date IS DISTINCT FROM s.first_sale",
    },
    Invariant {
        name: "no claim is open, and no outbox row unsent, for over a minute",
        query: "SELECT format('claim %s open since %s', transaction_id, claimed_at) FROM transaction_claims
                WHERE state = 'open' AND claimed_at < now() - interval '1 minute'
                UNION ALL SELECT format('outbox row %s waits since %s', id, created_at) FROM outbox
                WHERE created_at < now() - interval '1 minute'
                UNION ALL SELECT format('refund %s parked since %s for %s', event_id, parked_at, transaction_id)
                FROM parked_refunds WHERE parked_at < now() - interval '1 minute'",
    },
    Invariant {
        name: "a payment is one sale, under however many names",
        query: "SELECT format('payment %s of program %s is sales %s', payment, program_id, string_agg(sale_id::text, ', '))
                FROM (SELECT DISTINCT r.program_id, r.payment, c.sale_id
                      FROM processor_refs r JOIN transaction_claims c ON c.transaction_id = r.reference AND c.program_id = r.program_id
                      WHERE c.state = 'recorded') d
                -- Two names of one payment are joined a moment before its later sale is undone.
                WHERE NOT EXISTS (SELECT 1 FROM processor_events e
                                  WHERE e.program_id = d.program_id AND e.payment_pending AND e.state = 'open')
                GROUP BY program_id, payment HAVING count(*) > 1",
    },
    Invariant {
        name: "a duplicate is wholly reversed, and its original is an earlier sale of its program",
        query: "SELECT format('sale %s of %s is a duplicate of %s: %s refunded', d.id, d.amount_cents, d.duplicate_of,
                              greatest(d.api_refunded_cents, d.processor_refunded_cents))
                FROM sale_events d LEFT JOIN sale_events s ON s.id = d.duplicate_of
                WHERE d.duplicate_of IS NOT NULL
                  AND (greatest(d.api_refunded_cents, d.processor_refunded_cents) < d.amount_cents
                       OR s.duplicate_of IS NOT NULL OR s.program_id IS DISTINCT FROM d.program_id OR d.duplicate_of >= d.id)",
    },
    Invariant {
        name: "what a processor took back of a sale is counted on it, once",
        query: "SELECT format('sale %s of %s: %s refunded by processor, %s by API, its reversals say %s', s.id, s.amount_cents,
                              s.processor_refunded_cents, s.api_refunded_cents, coalesce(t.cents, 0))
                FROM sale_events s
                LEFT JOIN (SELECT sale_id, sum(cents) AS cents
                           FROM (SELECT sale_id, kind, source, max(amount_cents) AS cents FROM processor_reversals
                                 WHERE sale_id IS NOT NULL GROUP BY 1, 2, 3) k GROUP BY 1) t ON t.sale_id = s.id
                -- What is wholly refunded already is not refunded again.
                WHERE s.duplicate_of IS NULL AND s.processor_refunded_cents <> least(s.amount_cents, coalesce(t.cents, 0))
                  AND NOT (s.api_refunded_cents = s.amount_cents AND s.processor_refunded_cents < coalesce(t.cents, 0))
                UNION ALL
                SELECT format('reversal %s is counted on sale %s, which is a duplicate', v.event_id, v.sale_id)
                FROM processor_reversals v JOIN sale_events s ON s.id = v.sale_id WHERE s.duplicate_of IS NOT NULL",
    },
    Invariant {
        name: "no processor event is open for over a minute past its turn",
        query: "SELECT format('event %s (%s), open since %s', event_id, kind, received_at) FROM processor_events
                WHERE state = 'open' AND (relay_after IS NULL OR relay_after < now() - interval '1 minute')",
    },
    Invariant {
        name: "click_ids are unique, and no event is without its customer",
        query: "SELECT format('click_id %s stands %s times', click_id, count(*)) FROM customers GROUP BY click_id HAVING count(*) > 1
                UNION ALL
                SELECT format('click event %s: no customer %s', e.id, e.customer_id)
                FROM click_events e LEFT JOIN customers c ON c.id = e.customer_id WHERE NOT e.is_test AND c.id IS NULL
                UNION ALL
                SELECT format('lead event %s: no customer %s', e.id, e.customer_id)
                FROM lead_events e LEFT JOIN customers c ON c.id = e.customer_id WHERE NOT e.is_test AND c.id IS NULL",
    },
    Invariant {
        name: "no commission for a link first clicked after the payment",
        query: "SELECT format('commission %s of a sale of %s: link %s was first clicked at %s', c.id, s.sale_date, c.referral_link_id, k.at)
                FROM commissions c JOIN sale_events s ON s.id = c.sale_id JOIN customers u ON u.id = s.customer_id
                JOIN (SELECT customer_id, referral_link_id, min(click_timestamp) AS at FROM click_events
                      WHERE NOT is_test GROUP BY 1, 2) k
                     ON k.customer_id = s.customer_id AND k.referral_link_id = c.referral_link_id
                WHERE c.superseded_at IS NULL AND s.attribution_model IS NOT NULL
                  -- Of others the clicks that count may have been dropped with their month.
                  AND u.first_click_at >= (SELECT min(click_timestamp) FROM click_events)
                  AND k.at > s.sale_date AND k.at > u.first_click_at",
    },
    Invariant {
        name: "a one-time commission is for the customer's first payment",
        query: "SELECT format('commission %s is for sale %s of %s, the first payment was on %s', c.id, s.id, s.sale_date, f.at)
                FROM commissions c JOIN sale_events s ON s.id = c.sale_id
                JOIN (SELECT customer_id, min(sale_date) AS at FROM sale_events
                      WHERE NOT is_test AND duplicate_of IS NULL GROUP BY 1) f ON f.customer_id = s.customer_id
                WHERE c.superseded_at IS NULL AND c.commission_type = 'cps_one_time' AND s.attribution_model IS NOT NULL
                  AND s.duplicate_of IS NULL AND s.sale_date > f.at",
    },
    Invariant {
        name: "a recurring commission is within its months of the first payment",
        query: "SELECT format('commission %s is for a payment of %s, %s months are counted from %s', c.id, s.sale_date,
                              c.default_duration_months, f.at)
                FROM commissions c JOIN sale_events s ON s.id = c.sale_id
                JOIN (SELECT customer_id, NULL AS subscription_id, min(sale_date) AS at FROM sale_events
                      WHERE NOT is_test AND duplicate_of IS NULL GROUP BY 1
                      UNION ALL
                      SELECT customer_id, subscription_id, min(sale_date) FROM sale_events
                      WHERE NOT is_test AND duplicate_of IS NULL AND subscription_id IS NOT NULL GROUP BY 1, 2) f
                     ON f.customer_id = s.customer_id AND f.subscription_id IS NOT DISTINCT FROM s.subscription_id
                WHERE c.superseded_at IS NULL AND c.commission_type = 'cps_recurring' AND s.attribution_model IS NOT NULL
                  AND s.duplicate_of IS NULL
                  AND s.sale_date > f.at + make_interval(months => c.default_duration_months)",
    },
    Invariant {
        name: "archived programs have no later sales",
        // Clocks differ, and what was being processed at the time was not yet archived.
        query: "SELECT format('sale %s of %s: program %s was archived on %s', s.id, s.sale_date, p.id, p.archived_at)
                FROM sale_events s JOIN programs p ON p.id = s.program_id
                WHERE NOT s.is_test AND s.sale_date > p.archived_at + interval '1 minute'",
    },
    Invariant {
        name: "no sale outside its attribution window",
        query: "SELECT format('sale %s: %s after the first click', s.id, s.sale_date - a.first_click_at)
                FROM sale_events s JOIN customers c ON c.id = s.customer_id
                JOIN programs p ON p.id = s.program_id
                LEFT JOIN subscriptions u ON u.program_id = s.program_id AND u.subscription_id = s.subscription_id AND s.is_recurring
                CROSS JOIN LATERAL (SELECT least(u.first_click_at, c.first_click_at) AS first_click_at) a
                WHERE s.sale_date - coalesce(u.first_click_at, c.first_click_at) > make_interval(days => p.attribution_window_days)
                  AND NOT s.is_test AND s.sale_date > p.updated_at",
    },
];
