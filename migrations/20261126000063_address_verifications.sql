-- Links that show that an account's address is its owner's.
SET LOCAL lock_timeout = '2s';

CREATE TABLE address_verifications (
    id         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    user_id    bigint      NOT NULL REFERENCES users (id),
    token_hash bytea       NOT NULL UNIQUE CHECK (octet_length(token_hash) = 32),
    created_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL,
    -- The address was verified, by this link or by another.
    ended_at   timestamptz
);
CREATE INDEX address_verifications_user ON address_verifications (user_id) WHERE ended_at IS NULL;
CREATE INDEX address_verifications_expired ON address_verifications (expires_at);
