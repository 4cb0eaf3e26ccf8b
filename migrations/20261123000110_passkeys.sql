-- Passkeys: a device's key that signs somebody in, in place of password and code.

CREATE TABLE passkeys (
    id            bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    user_id       bigint      NOT NULL REFERENCES users (id),
    name          text        NOT NULL,
    credential_id bytea       NOT NULL UNIQUE,
    -- The public key, with what the device said of it and its counter.
    credential    jsonb       NOT NULL,
    created_at    timestamptz NOT NULL,
    last_used_at  timestamptz
);
CREATE INDEX passkeys_user ON passkeys (user_id, id);

-- What a device is asked to sign, each once and for minutes.
CREATE TABLE passkey_challenges (
    handle_hash bytea       PRIMARY KEY CHECK (octet_length(handle_hash) = 32),
    -- Whose passkey is to be made; NULL: somebody shows one, and who that is is known by it.
    user_id     bigint      REFERENCES users (id),
    state       jsonb       NOT NULL,
    expires_at  timestamptz NOT NULL
);
CREATE INDEX passkey_challenges_expires_at ON passkey_challenges (expires_at);

-- Opened by a passkey, which is two factors in one.
ALTER TABLE sessions ADD COLUMN by_passkey boolean NOT NULL DEFAULT false;
