-- no-transaction
-- Few entries: a sale's accrual is not among them, and costs nothing more.
CREATE INDEX CONCURRENTLY ledger_entries_found_no_balance ON ledger_entries (partner_program_id, currency)
    WHERE account = 'partner' AND kind <> 'payout' AND (kind = 'settlement' OR shortfall_cents > 0);
