-- The sale that a commission added by hand makes up for: it earned nothing. Refunds of it take nothing from the commission.
ALTER TABLE commissions ADD COLUMN for_sale_id bigint;
ALTER TABLE commissions ADD CONSTRAINT for_a_sale_by_hand CHECK (for_sale_id IS NULL OR sale_id IS NULL) NOT VALID;
ALTER TABLE commissions VALIDATE CONSTRAINT for_a_sale_by_hand;
