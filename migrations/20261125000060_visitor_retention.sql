-- How far the worker is in dropping visitors: customers who only ever clicked, whose events are gone (common::storage::visitor_retention).
-- One row, which a worker locks while it looks at some customers.
CREATE TABLE visitor_retention (
    is_only_row   boolean     PRIMARY KEY DEFAULT true CHECK (is_only_row),
    -- Customers with ids up to this were looked at in this round.
    after         bigint      NOT NULL DEFAULT 0,
    -- When the next round may begin with the first customer.
    next_round_at timestamptz NOT NULL DEFAULT 'epoch'
);
INSERT INTO visitor_retention DEFAULT VALUES;
