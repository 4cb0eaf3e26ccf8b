-- no-transaction
-- The same of what was taken from commissions. Few movements: a sale's accrual is not among them, and costs nothing more.
CREATE INDEX CONCURRENTLY ledger_entries_deductions ON ledger_entries (program_id, created_at) WHERE account = 'partner' AND kind IN ('reversal', 'adjustment');
