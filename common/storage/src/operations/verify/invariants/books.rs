//! Sales, commissions, the ledger, balances, payouts.

use super::Invariant;

pub(super) const BOOKS: &[Invariant] = invariants! {
    "one sale per transaction_id, held by its claim" {
        Sales => "SELECT format('sale %s, transaction %s: claim %s', s.id, s.processor_event_id, coalesce(c.state, 'missing'))
            FROM {rows} s LEFT JOIN transaction_claims c ON c.transaction_id = s.processor_event_id
            WHERE NOT s.is_test AND c.sale_id IS DISTINCT FROM coalesce(s.duplicate_of, s.id)",
        Claims => "SELECT format('claim %s names sale %s, which does not exist', c.transaction_id, c.sale_id)
            FROM {rows} c LEFT JOIN sale_events s ON s.id = c.sale_id
            WHERE c.state = 'recorded' AND s.id IS NULL",
    }
    "one commission per sale, unless the program splits them" {
        Sales => "SELECT format('sale %s has %s commissions', s.id, count(*))
            FROM commissions c JOIN {rows} s ON s.id = c.sale_id
            WHERE c.superseded_at IS NULL AND s.attribution_model <> 'linear' AND s.subscription_id IS NULL
            GROUP BY s.id HAVING count(*) > 1",
    }
    "commissions by percentage come to their policy's share of what earns" {
        Sales => "SELECT format('sale %s: commissions of %s, %s basis points of %s', s.id, sum(c.amount_cents - c.adjusted_cents), min(c.rate_bps),
                          coalesce(s.commissionable_cents, s.amount_cents))
            FROM commissions c JOIN {rows} s ON s.id = c.sale_id
            WHERE c.rate_bps IS NOT NULL AND c.superseded_at IS NULL
            GROUP BY s.id, s.commissionable_cents, s.amount_cents
            HAVING sum(c.amount_cents - c.adjusted_cents) <> round(coalesce(s.commissionable_cents, s.amount_cents)::numeric * min(c.rate_bps) / 10000)",
    }
    "a sale has a commission or a reason why not" {
        Sales => "SELECT format('sale %s: commissions %s, reason %s', s.id, count(c.id), coalesce(s.no_commission_reason, 'none'))
            FROM {rows} s LEFT JOIN commissions c ON c.sale_id = s.id AND c.superseded_at IS NULL WHERE NOT s.is_test
            GROUP BY s.id, s.no_commission_reason HAVING (count(c.id) > 0) = (s.no_commission_reason IS NOT NULL)",
    }
    "partner-program balance = sum of its ledger entries" {
        Memberships => "SELECT format('partner-program %s %s: balance %s, ledger %s', p.id, d.currency, d.balance, d.ledger)
            FROM {rows} p
            CROSS JOIN LATERAL (
                SELECT currency, coalesce(b.balance_cents, 0) AS balance, coalesce(l.cents, 0) AS ledger
                FROM (SELECT currency, balance_cents FROM partner_program_balances WHERE partner_program_id = p.id) b
                FULL JOIN (SELECT currency, sum(amount_cents) AS cents FROM ledger_entries
                           WHERE partner_program_id = p.id GROUP BY 1) l USING (currency)) d
            WHERE d.balance <> d.ledger",
        Movements => "SELECT format('ledger entry %s of partner %s is of partner-program %s of partner %s', l.id, l.partner_id,
                          l.partner_program_id, coalesce(p.partner_id::text, 'nobody'))
            FROM {rows} l LEFT JOIN partner_programs p ON p.id = l.partner_program_id
            WHERE p.partner_id IS DISTINCT FROM l.partner_id",
        One => "SELECT format('balance of partner-program %s, which does not exist', b.partner_program_id)
            FROM partner_program_balances b LEFT JOIN partner_programs p ON p.id = b.partner_program_id WHERE p.id IS NULL",
    }
    "partner balance = sum of its ledger entries" {
        // Earlier checks prove that each ledger entry belongs to a membership of its partner, and that
        // each membership's balance is the sum of its entries.
        One => "SELECT format('partner %s %s: balance %s, its partner-programs have %s', id, currency, balance, ledger) FROM (
              SELECT coalesce(b.partner_id, l.partner_id) AS id, coalesce(b.currency, l.currency) AS currency,
                     coalesce(b.balance_cents, 0) AS balance, coalesce(l.cents, 0) AS ledger
              FROM partner_balances b
              FULL JOIN (SELECT p.partner_id, m.currency, sum(m.balance_cents) AS cents
                         FROM partner_program_balances m JOIN partner_programs p ON p.id = m.partner_program_id GROUP BY 1, 2) l
                   ON l.partner_id = b.partner_id AND l.currency = b.currency) d
            WHERE balance <> ledger",
    }
    "a commission's accrual is in the ledger, and what refunds took from it" {
        Commissions => "SELECT format('commission %s: amount %s, accrued %s, adjusted %s (ledger: %s), deducted %s, reversals requested %s', c.id,
                          c.amount_cents, coalesce(l.accrued, 0), c.adjusted_cents, coalesce(l.adjusted, 0),
                          c.deducted_cents, coalesce(l.requested, 0))
            FROM {rows} c
            CROSS JOIN LATERAL (SELECT sum(amount_cents) FILTER (WHERE kind = 'accrual') AS accrued,
                              sum(CASE WHEN amount_cents > 0 THEN requested_cents ELSE -requested_cents END)
                                  FILTER (WHERE kind = 'adjustment') AS adjusted,
                              sum(requested_cents) FILTER (WHERE kind = 'reversal') AS requested
                       FROM ledger_entries WHERE commission_id = c.id) l
            WHERE coalesce(l.accrued, 0) + c.adjusted_cents <> c.amount_cents OR coalesce(l.adjusted, 0) <> c.adjusted_cents
               OR coalesce(l.requested, 0) <> c.deducted_cents",
        Movements => "SELECT format('ledger entry %s is of commission %s, which does not exist', l.id, l.commission_id)
            FROM {rows} l LEFT JOIN commissions c ON c.id = l.commission_id WHERE c.id IS NULL",
    }
    "the effective refund of a sale is the sum of its refunds, and within the sale" {
        Sales => "SELECT format('sale %s of %s: refunded %s by API, %s by processor, %s by its refunds', s.id, s.amount_cents,
                          s.api_refunded_cents, s.processor_refunded_cents, coalesce(sum(r.effective_cents), 0))
            FROM {rows} s LEFT JOIN refunds r ON r.sale_id = s.id
            GROUP BY s.id, s.amount_cents, s.api_refunded_cents, s.processor_refunded_cents
            HAVING least(s.amount_cents, greatest(s.api_refunded_cents, s.processor_refunded_cents))
                   <> coalesce(sum(r.effective_cents), 0)",
    }
    "a commission's deduction is its exact share of the refund" {
        Commissions => "SELECT format('commission %s of %s: deducted %s, due %s', c.id, c.amount_cents, c.deducted_cents, d.due)
            FROM {rows} c JOIN sale_events s ON s.id = c.sale_id
            CROSS JOIN LATERAL (SELECT round(c.amount_cents::numeric
                * least(s.amount_cents, greatest(s.api_refunded_cents, s.processor_refunded_cents)) / nullif(s.amount_cents, 0)) AS due) d
            -- What was changed by hand between refunds was another amount before: it only stays within bounds.
            WHERE c.adjusted_cents = 0 AND c.deducted_cents <> d.due AND c.superseded_at IS NULL
            UNION ALL
            SELECT format('commission %s is superseded, and %s of %s taken back', id, deducted_cents, amount_cents)
            FROM {rows} c WHERE superseded_at IS NOT NULL AND (deducted_cents <> amount_cents OR status <> 'reversed')",
    }
    "a commission's status agrees with its sale's refunds" {
        Commissions => "SELECT format('commission %s is %s, %s of %s refunded', c.id, c.status, e.refunded, s.amount_cents)
            FROM {rows} c JOIN sale_events s ON s.id = c.sale_id
            CROSS JOIN LATERAL (SELECT least(s.amount_cents,
                greatest(s.api_refunded_cents, s.processor_refunded_cents)) AS refunded) e
            WHERE c.superseded_at IS NULL
              AND ((c.status = 'reversed') <> (e.refunded = s.amount_cents OR c.rejected_at IS NOT NULL)
                   OR (c.status = 'refunded') <> (e.refunded > 0 AND e.refunded < s.amount_cents AND c.rejected_at IS NULL)
                   OR (c.rejected_at IS NOT NULL AND c.amount_cents > c.deducted_cents)
                   OR (c.status = 'paid' AND c.paid_at IS NULL))",
    }
    "a commission added by hand was approved with it, and is paid or rejected" {
        Commissions => "SELECT format('commission %s is %s, approved at %s, rejected at %s', id, status, coalesce(approved_at::text, 'no time'),
                          coalesce(rejected_at::text, 'no time'))
            FROM {rows} c
            WHERE sale_id IS NULL
              AND (approved_at IS NULL OR status NOT IN ('approved', 'paid', 'reversed')
                   OR (status = 'reversed') <> (rejected_at IS NOT NULL) OR rejected_at IS NOT NULL AND amount_cents > 0)",
    }
    "a balance is negative only after a paid commission was reversed" {
        One => "SELECT format('partner-program %s: %s %s', b.partner_program_id, b.balance_cents, b.currency)
            FROM partner_program_balances b
            WHERE b.balance_cents < 0 AND NOT EXISTS (
                SELECT 1 FROM commissions c WHERE c.partner_program_id = b.partner_program_id
                AND c.currency = b.currency AND c.paid_at IS NOT NULL
                AND (c.deducted_cents > 0 OR c.adjusted_cents < 0 OR c.adjusted_at IS NOT NULL))",
    }
    "no more is owed to a partner than is left of their unpaid commissions" {
        Memberships => "SELECT format('partner-program %s: balance %s %s, owed %s, unpaid %s, debt %s', p.id, b.balance_cents, b.currency,
                          b.owed_cents, coalesce(u.cents, 0), coalesce(d.debt_cents, 0))
            FROM {rows} p
            JOIN partner_program_owed b ON b.partner_program_id = p.id
            CROSS JOIN LATERAL (SELECT sum(amount_cents - deducted_cents) AS cents FROM commissions
                                WHERE paid_at IS NULL AND partner_id = p.partner_id AND partner_program_id = p.id
                                  AND currency = b.currency) u
            LEFT JOIN partner_program_debts d ON d.partner_program_id = p.id AND d.currency = b.currency
            WHERE b.balance_cents > coalesce(u.cents, 0)
               OR b.owed_cents <> coalesce(u.cents, 0) - coalesce(d.debt_cents, 0)",
    }
    "a payout holds back what is owed, and moves money only when nothing more is" {
        // The debt: deductions after payment, less what payouts held back, in ledger order.
        Memberships => "SELECT format('partner-program %s, ledger entry %s: %s %s moved, then owes %s', partner_program_id, id,
                          -amount_cents, currency, debt)
            FROM (SELECT l.id, l.partner_program_id, l.currency, l.kind, l.amount_cents,
                         sum(CASE WHEN l.kind = 'payout' THEN -l.shortfall_cents
                                  WHEN l.amount_cents > 0 THEN -l.requested_cents ELSE l.requested_cents END)
                             OVER (PARTITION BY l.partner_program_id, l.currency ORDER BY l.id) AS debt
                  FROM {rows} m JOIN ledger_entries l ON l.partner_program_id = m.id
                  LEFT JOIN ledger_entries p ON p.commission_id = l.commission_id AND p.kind = 'payout'
                  WHERE l.kind = 'payout' OR l.kind IN ('reversal', 'adjustment') AND p.id < l.id) d
            WHERE debt < 0 OR kind = 'payout' AND amount_cents < 0 AND debt > 0",
    }
    "a payout is the sum of its partners' ledger entries, one a commission" {
        Payouts => "SELECT format('payout %s: %s %s for %s commissions, %s entries of %s', p.id, p.amount_cents, p.currency, p.commission_count,
                          d.entries, d.cents)
            FROM {rows} p
            CROSS JOIN LATERAL (SELECT coalesce(-sum(l.amount_cents), 0) AS cents, count(l.id) AS entries, count(DISTINCT c.id) AS commissions
                                FROM commissions c
                                LEFT JOIN ledger_entries l ON l.commission_id = c.id AND l.entry_group = p.event_id AND l.kind = 'payout'
                                                          AND l.currency = p.currency
                                WHERE c.payout_id = p.id) d
            WHERE p.amount_cents <> d.cents OR p.commission_count <> d.entries OR p.commission_count <> d.commissions",
        Movements => "SELECT format('ledger entry %s is of no payout, or of another than its commission', l.id)
            FROM {rows} l
            LEFT JOIN payouts p ON p.event_id = l.entry_group LEFT JOIN commissions c ON c.id = l.commission_id
            WHERE l.kind = 'payout' AND (p.id IS NULL OR c.payout_id IS DISTINCT FROM p.id)",
    }
    "a commission is paid by one payout, of its program and currency" {
        Commissions => "SELECT format('commission %s: paid at %s, payout %s', id, coalesce(paid_at::text, 'no time'),
                          coalesce(payout_id::text, 'none'))
            FROM {rows} c WHERE (paid_at IS NULL) <> (payout_id IS NULL)
            UNION ALL
            SELECT format('commission %s of program %s in %s: payout %s of %s in %s', c.id, c.program_id, c.currency, p.id,
                          p.program_id, p.currency)
            FROM {rows} c JOIN payouts p ON p.id = c.payout_id
            WHERE p.program_id <> c.program_id OR p.currency <> c.currency",
    }
    "a payout pays what refunds had left of a commission, once" {
        Commissions => "SELECT format('commission %s: %s payouts requested %s, %s was left', c.id, count(l.id), coalesce(sum(l.requested_cents), 0),
                          max(d.remaining))
            FROM {rows} c
            LEFT JOIN ledger_entries l ON l.commission_id = c.id AND l.kind = 'payout'
            LEFT JOIN LATERAL (SELECT sum(CASE WHEN r.amount_cents > 0 THEN r.requested_cents ELSE -r.requested_cents END) AS remaining
                               FROM ledger_entries r WHERE r.commission_id = c.id AND r.kind IN ('accrual', 'reversal', 'adjustment')
                               AND r.id < l.id) d ON true
            WHERE c.paid_at IS NOT NULL
            GROUP BY c.id HAVING count(l.id) <> 1 OR sum(l.requested_cents) <> max(d.remaining)",
    }
    "sale, customer, commission and partner are of one program" {
        Sales => "SELECT format('sale %s of program %s: customer of %s', s.id, s.program_id, coalesce(c.program_id::text, 'nothing'))
            FROM {rows} s LEFT JOIN customers c ON c.id = s.customer_id
            WHERE NOT s.is_test AND c.program_id IS DISTINCT FROM s.program_id",
        Commissions => "SELECT format('commission %s of program %s: sale of %s, membership of %s', c.id, c.program_id, s.program_id, p.program_id)
            FROM {rows} c LEFT JOIN sale_events s ON s.id = c.sale_id
            LEFT JOIN partner_programs p ON p.id = c.partner_program_id
            WHERE c.sale_id IS NOT NULL AND s.program_id IS DISTINCT FROM c.program_id OR p.program_id IS DISTINCT FROM c.program_id",
    }
    "no test row earns anything" {
        Movements => "SELECT format('ledger entry %s belongs to test sale %s', l.id, l.sale_id)
            FROM {rows} l JOIN sale_events s ON s.id = l.sale_id WHERE s.is_test",
        Commissions => "SELECT format('commission %s is a test row', c.id) FROM {rows} c WHERE c.is_test
            UNION ALL SELECT format('commission %s belongs to test sale %s', c.id, c.sale_id)
            FROM {rows} c JOIN sale_events s ON s.id = c.sale_id WHERE s.is_test",
    }
    "no test row takes a transaction_id, a refund or a subscription" {
        Claims => "SELECT format('claim %s names test sale %s', c.transaction_id, c.sale_id)
            FROM {rows} c JOIN sale_events s ON s.id = c.sale_id WHERE s.is_test",
        Sales => "SELECT format('refund %s belongs to test sale %s', r.id, r.sale_id)
            FROM refunds r JOIN {rows} s ON s.id = r.sale_id WHERE s.is_test",
        One => "SELECT format('subscription %s began with test sale %s', u.subscription_id, u.first_sale_id)
            FROM subscriptions u JOIN sale_events s ON s.id = u.first_sale_id WHERE s.is_test",
    }
};
