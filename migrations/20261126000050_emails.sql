-- E-mails to people, sent by a worker; addresses that refuse them; and the links that replace a forgotten password.
SET LOCAL lock_timeout = '2s';

-- One row an e-mail, written in the transaction of what it tells. Whom it is to, what it says and the token of its link are kept until it is
-- sent or given up, and no longer.
CREATE TABLE emails (
    id             bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    -- Of the header `Message-ID`: a second delivery after a crash is recognised by it.
    message_id     uuid        NOT NULL UNIQUE,
    kind           text        NOT NULL,
    recipient      text,
    -- With a key, as every stored hash of an address.
    recipient_hash text        NOT NULL,
    content        jsonb,
    token_sealed   bytea,
    created_at     timestamptz NOT NULL,
    -- From then on it is not worth sending.
    expires_at     timestamptz NOT NULL,
    state          text        NOT NULL DEFAULT 'waiting' CHECK (state IN ('waiting', 'sent', 'given_up', 'stopped')),
    -- Taken for an attempt, it is due again after the longest time that an attempt can take.
    due_at         timestamptz NOT NULL,
    attempts       smallint    NOT NULL DEFAULT 0,
    -- The mail server's last answer, where it gave one.
    reply_code     smallint,
    finished_at    timestamptz,
    CHECK ((state = 'waiting') = (finished_at IS NULL)),
    CHECK ((state = 'waiting') = (recipient IS NOT NULL)),
    CHECK ((state = 'waiting') = (content IS NOT NULL)),
    CHECK (state = 'waiting' OR token_sealed IS NULL)
) WITH (fillfactor = 80);
CREATE INDEX emails_due ON emails (due_at, id) WHERE state = 'waiting';
CREATE INDEX emails_recipient ON emails (recipient_hash, kind, created_at);
CREATE INDEX emails_finished ON emails (finished_at) WHERE state <> 'waiting';

-- Addresses that a mail server refused for good: nothing more is sent to them, until an operator lifts it.
CREATE TABLE stopped_addresses (
    recipient_hash text PRIMARY KEY,
    stopped_at     timestamptz NOT NULL,
    reply_code     smallint    NOT NULL
);

-- Links that replace a forgotten password, each once.
CREATE TABLE password_resets (
    id         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    user_id    bigint      NOT NULL REFERENCES users (id),
    token_hash bytea       NOT NULL UNIQUE,
    created_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL,
    -- Used, or another one was, or the password was changed.
    ended_at   timestamptz
);
CREATE INDEX password_resets_user ON password_resets (user_id) WHERE ended_at IS NULL;
CREATE INDEX password_resets_expired ON password_resets (expires_at);
