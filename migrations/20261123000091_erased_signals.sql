-- A commission that replaces one that was changed by hand is flagged, so that the change is not undone unseen.
-- An erasure leaves of a commission's signals that there were some: it still waits for approval where flagged ones do.
ALTER TABLE commissions DROP CONSTRAINT commissions_signals_check;
ALTER TABLE commissions ADD CONSTRAINT commissions_signals_check
    CHECK (signals <@ ARRAY['self_referral', 'fast_sale', 'contested_key', 'many_leads', 'replaces_changed', 'erased']) NOT VALID;
ALTER TABLE commissions VALIDATE CONSTRAINT commissions_signals_check;
