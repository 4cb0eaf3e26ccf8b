-- no-transaction
-- What moved in a week. The ledger only grows, in the order of time: an index of block ranges is enough, and costs a posting nothing.
CREATE INDEX CONCURRENTLY ledger_entries_created ON ledger_entries USING brin (created_at) WITH (pages_per_range = 32);
