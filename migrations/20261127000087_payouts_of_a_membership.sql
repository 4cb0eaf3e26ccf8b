-- no-transaction
-- The payouts of a membership, found by stepping from one to the next: they are few, their commissions may be many.
CREATE INDEX CONCURRENTLY commissions_payouts_of_membership ON commissions (partner_program_id, payout_id) WHERE payout_id IS NOT NULL;
