-- An authenticator app (RFC 6238) that shows a code beside the password.
CREATE TABLE second_factors (
    user_id       bigint PRIMARY KEY REFERENCES users (id),
    -- What the app and we know, sealed with a key of the installation.
    secret_sealed bytea       NOT NULL,
    created_at    timestamptz NOT NULL,
    -- When a first code showed that the app has it. Until then it is not asked for.
    enabled_at    timestamptz,
    -- The latest half minute since 1970 whose code was taken: each is taken once.
    last_step     bigint      NOT NULL DEFAULT 0
);

-- For who has lost the app: each is good once.
CREATE TABLE recovery_codes (
    user_id   bigint NOT NULL REFERENCES second_factors (user_id) ON DELETE CASCADE,
    code_hash bytea  NOT NULL CHECK (octet_length(code_hash) = 32),
    used_at   timestamptz,
    PRIMARY KEY (user_id, code_hash)
);

-- Members without a second factor can do nothing but set one up.
ALTER TABLE workspaces ADD COLUMN second_factor_required boolean NOT NULL DEFAULT false;
