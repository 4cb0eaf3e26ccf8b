-- A browser's word binds a customer_key only until an authenticated call names another click with it. How older keys were bound
-- is recorded nowhere (lead_events know whether a lead was provisional, not who sent it): they count as bound by the backend, and
-- stay where they are, because to move one wrongly would take a customer from the partner who brought it.
ALTER TABLE customers
    ADD COLUMN key_from_browser boolean NOT NULL DEFAULT false,
    -- Two customers were named with one key. Shown with their commissions.
    ADD COLUMN key_contested    boolean NOT NULL DEFAULT false;

ALTER TABLE commissions DROP CONSTRAINT commissions_signals_check;
ALTER TABLE commissions ADD CONSTRAINT commissions_signals_check
    CHECK (signals <@ ARRAY['self_referral', 'fast_sale', 'contested_key']) NOT VALID;
ALTER TABLE commissions VALIDATE CONSTRAINT commissions_signals_check;
