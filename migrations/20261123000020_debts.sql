-- What a partner owes is derived from what was paid and taken back, not from the balance, which refunds of unpaid commissions
-- clamp at zero.

-- `settlement`: what clamping had left on a balance, taken when a payout settles the debt. `adjustment`: by hand.
ALTER TABLE ledger_entries DROP CONSTRAINT ledger_entries_kind_check;
ALTER TABLE ledger_entries ADD CONSTRAINT ledger_entries_kind_check
    CHECK (kind IN ('accrual', 'reversal', 'payout', 'settlement', 'adjustment')) NOT VALID;
ALTER TABLE ledger_entries VALIDATE CONSTRAINT ledger_entries_kind_check;

-- What of amount_cents was added or taken away by hand.
ALTER TABLE commissions ADD COLUMN adjusted_cents bigint NOT NULL DEFAULT 0;

CREATE INDEX commissions_membership_paid_and_changed ON commissions (partner_program_id, currency)
    WHERE paid_at IS NOT NULL AND (deducted_cents > 0 OR adjusted_cents <> 0);
CREATE INDEX ledger_entries_payouts_held_back ON ledger_entries (partner_program_id, currency)
    WHERE kind = 'payout' AND account = 'partner' AND shortfall_cents > 0;

-- What was taken from commissions after they were paid, less what payouts have held back for it.
CREATE VIEW partner_program_debts AS
    SELECT partner_program_id, currency, sum(cents)::bigint AS debt_cents
    FROM (SELECT c.partner_program_id, c.currency, l.requested_cents - (c.amount_cents - c.deducted_cents) AS cents
          FROM commissions c
          JOIN ledger_entries l ON l.commission_id = c.id AND l.kind = 'payout' AND l.account = 'partner'
          WHERE c.paid_at IS NOT NULL AND (c.deducted_cents > 0 OR c.adjusted_cents <> 0)
          UNION ALL
          SELECT partner_program_id, currency, -shortfall_cents
          FROM ledger_entries
          WHERE kind = 'payout' AND account = 'partner' AND shortfall_cents > 0) AS movements
    GROUP BY partner_program_id, currency;
