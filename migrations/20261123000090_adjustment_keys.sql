-- The Idempotency-Keys under which commissions were adjusted: the same call again finds its key here and adjusts nothing.
CREATE TABLE adjustment_keys (
    program_id      bigint NOT NULL REFERENCES programs (id),
    idempotency_key text NOT NULL,
    request_hash    bytea NOT NULL,
    adjusted_at     timestamptz NOT NULL,
    PRIMARY KEY (program_id, idempotency_key)
);
