-- What paying commissions, and showing partners what is theirs, asks of the tables.

-- A caller's own name for a payout: sent again, it is the same payout.
ALTER TABLE payouts ADD COLUMN idempotency_key text;
CREATE UNIQUE INDEX payouts_idempotency_key ON payouts (program_id, idempotency_key) WHERE idempotency_key IS NOT NULL;

-- What a program can pay out now, but for those refunded ones whose hold period is not over.
CREATE INDEX commissions_program_payable ON commissions (program_id, currency, id)
    WHERE paid_at IS NULL AND status IN ('approved', 'refunded');
-- What a membership has earned and not been paid: a payout compares it with the balance while it holds that balance's lock.
CREATE INDEX commissions_membership_unpaid ON commissions (partner_program_id, currency)
    WHERE paid_at IS NULL AND status <> 'reversed';
-- What a membership has been paid. Few of the ledger's entries are payouts.
CREATE INDEX ledger_entries_payouts ON ledger_entries (partner_program_id, currency)
    WHERE kind = 'payout' AND account = 'partner';

-- For a partner's own view: memberships, links, and the clicks of a link, newest first.
CREATE INDEX partner_programs_partner ON partner_programs (partner_id);
CREATE INDEX referral_links_partner ON referral_links (partner_id);
CREATE INDEX click_events_link ON click_events (referral_link_id, click_timestamp DESC) WHERE counted AND NOT is_test;

-- Advertisers and partners read their own notifications, newest first, and count the unread ones.
CREATE INDEX notifications_advertiser ON notifications (program_id, id DESC) WHERE recipient = 'advertiser';
CREATE INDEX notifications_advertiser_unread ON notifications (program_id) WHERE recipient = 'advertiser' AND read_at IS NULL;
