-- What a membership is owed in a currency: what is left of its unpaid commissions less its debt, and so what payouts will move once nothing
-- is held any more. A balance can be more, as deductions take it to zero at most, until a payout settles what they left. Taken from the
-- balance, because that adds up a few entries and no commissions; below zero it is owed by the partner.
CREATE VIEW partner_program_owed AS
    SELECT b.partner_program_id, b.currency, b.balance_cents, (b.balance_cents - left_by_deductions.cents)::bigint AS owed_cents
    FROM partner_program_balances b
    CROSS JOIN LATERAL (
        SELECT coalesce(sum(CASE WHEN l.kind = 'settlement' THEN l.amount_cents ELSE l.shortfall_cents END), 0) AS cents
        FROM ledger_entries l
        WHERE l.partner_program_id = b.partner_program_id AND l.currency = b.currency
          AND l.account = 'partner' AND l.kind <> 'payout' AND (l.kind = 'settlement' OR l.shortfall_cents > 0)) left_by_deductions;
