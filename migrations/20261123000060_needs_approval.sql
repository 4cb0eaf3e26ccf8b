-- Commissions that are approved by hand only: none, those with a signal, or all of the program's.
ALTER TABLE programs ADD COLUMN needs_approval text NOT NULL DEFAULT 'none'
    CHECK (needs_approval IN ('none', 'flagged', 'all'));

-- Whether a commission's time has come: its hold period is over, and it needs no approval by hand. The rules of both functions are
-- CommissionState's, in common/src/domain/payout.rs.
CREATE FUNCTION hold_ended(c commissions, needs_approval text, as_of timestamptz) RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT c.hold_until <= as_of
       AND NOT CASE needs_approval WHEN 'all' THEN true WHEN 'flagged' THEN cardinality(c.signals) > 0 ELSE false END
$$;
-- Whether a commission can be paid.
CREATE FUNCTION can_be_paid(c commissions, needs_approval text, as_of timestamptz) RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT c.paid_at IS NULL
       AND (c.status = 'approved'
            OR c.status = 'refunded' AND c.amount_cents > c.deducted_cents
               AND (c.approved_at IS NOT NULL OR hold_ended(c, needs_approval, as_of)))
$$;
