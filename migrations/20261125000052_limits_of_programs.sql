-- contract: a new column that may be empty; processes of the release before do not read it.
SET LOCAL lock_timeout = '2s';
-- Sales and refunds a minute, for each key of the program; without one it is the installation's SALE_REFUND_LIMIT. Set by `ctl limits`.
ALTER TABLE programs ADD COLUMN sale_refund_limit integer CHECK (sale_refund_limit > 0);
