-- Partners make referral links of their own, as many as their program allows.
SET LOCAL lock_timeout = '100ms';

ALTER TABLE programs ADD COLUMN partner_link_limit smallint NOT NULL DEFAULT 10 CHECK (partner_link_limit BETWEEN 0 AND 100);

-- Only these count against the limit.
ALTER TABLE referral_links ADD COLUMN made_by_partner boolean NOT NULL DEFAULT false;
