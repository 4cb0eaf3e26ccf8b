-- Timelines of this database on which ids of customers were leased. On one that is not here, after a restore or the promotion of a replica,
-- blocks may be in use that the sequence does not know of: common::storage::customer_ids moves it far ahead first.
CREATE TABLE customer_id_timelines (
    -- <system identifier>/<oid of the database>/<timeline>
    timeline text PRIMARY KEY,
    since    timestamptz NOT NULL DEFAULT now()
);
