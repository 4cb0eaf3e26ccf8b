-- What earns of a sale, where that is not the whole amount: NULL, also where an older worker writes the row, is the whole.
ALTER TABLE sale_events ADD COLUMN commissionable_cents bigint;
ALTER TABLE sale_events ADD CONSTRAINT commissionable_within_amount
    CHECK (commissionable_cents BETWEEN 0 AND amount_cents) NOT VALID;
ALTER TABLE sale_events VALIDATE CONSTRAINT commissionable_within_amount;
