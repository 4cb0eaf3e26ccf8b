-- Many leads of one link or one address within an hour, without a credential.
ALTER TABLE customers
    -- The customer's lead was one of them. Shown with their commissions.
    ADD COLUMN many_leads boolean NOT NULL DEFAULT false;

ALTER TABLE commissions DROP CONSTRAINT commissions_signals_check;
ALTER TABLE commissions ADD CONSTRAINT commissions_signals_check
    CHECK (signals <@ ARRAY['self_referral', 'fast_sale', 'contested_key', 'many_leads']) NOT VALID;
ALTER TABLE commissions VALIDATE CONSTRAINT commissions_signals_check;
