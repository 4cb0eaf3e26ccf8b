-- A commission that was raised, paid and lowered again is changed by nothing in all, and yet something of it is owed back: the sum of
-- the changes does not say that there were any. The kind `adjustment` is of this release, so there is nothing of before to fill in.
ALTER TABLE commissions
    -- When it was last changed by hand.
    ADD COLUMN adjusted_at timestamptz;

CREATE OR REPLACE VIEW partner_program_debts AS
    SELECT partner_program_id, currency, sum(cents)::bigint AS debt_cents
    FROM (SELECT c.partner_program_id, c.currency, l.requested_cents - (c.amount_cents - c.deducted_cents) AS cents
          FROM commissions c
          JOIN ledger_entries l ON l.commission_id = c.id AND l.kind = 'payout' AND l.account = 'partner'
          WHERE c.paid_at IS NOT NULL AND (c.deducted_cents > 0 OR c.adjusted_cents <> 0 OR c.adjusted_at IS NOT NULL)
          UNION ALL
          SELECT partner_program_id, currency, -shortfall_cents
          FROM ledger_entries
          WHERE kind = 'payout' AND account = 'partner' AND shortfall_cents > 0) AS movements
    GROUP BY partner_program_id, currency;
