-- Tracking tokens beside a program's own: one for each server, with what that server needs to do, and the token before the
-- last regeneration for as long as it is still accepted.

CREATE TABLE tracking_tokens (
    id           bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    program_id   bigint      NOT NULL REFERENCES programs (id),
    -- NULL: it was the program's own before a regeneration.
    name         text,
    token_hash   bytea       NOT NULL UNIQUE CHECK (octet_length(token_hash) = 32),
    token_masked text        NOT NULL,
    scopes       text[]      NOT NULL
                 CHECK (cardinality(scopes) > 0 AND scopes <@ ARRAY['sale', 'refund', 'lead', 'connect']),
    -- Both or none, as in programs: announced with each answer, and refused from rotate_by on.
    marked_at    timestamptz,
    rotate_by    timestamptz,
    -- NULL: by a management key, or before there were names.
    created_by   bigint      REFERENCES users (id),
    created_at   timestamptz NOT NULL,
    revoked_at   timestamptz,
    CONSTRAINT mark_is_whole CHECK (num_nulls(marked_at, rotate_by) IN (0, 2))
);
CREATE INDEX tracking_tokens_program ON tracking_tokens (program_id, id);

-- All that open a program, as the edge's directory holds them.
CREATE VIEW accepted_tokens AS
SELECT id AS program_id, api_token_hash AS token_hash, ARRAY['sale', 'refund', 'lead', 'connect'] AS scopes,
       key_rotation_marked_at AS marked_at, key_rotation_rotate_by AS rotate_by
FROM programs
UNION ALL
SELECT program_id, token_hash, scopes, marked_at, rotate_by
FROM tracking_tokens WHERE revoked_at IS NULL;

-- The directory hears of programs: a change of a token is one of its program.
CREATE FUNCTION touch_program() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE programs SET updated_at = clock_timestamp() WHERE id = NEW.program_id;
    RETURN NULL;
END $$;
CREATE TRIGGER tracking_tokens_touch_program AFTER INSERT OR UPDATE ON tracking_tokens
    FOR EACH ROW EXECUTE FUNCTION touch_program();

-- When a token was last used, to the hour: which one can be taken away. Not a column of the tokens, whose changes go to each edge.
CREATE TABLE token_uses (
    token_hash   bytea       PRIMARY KEY CHECK (octet_length(token_hash) = 32),
    last_used_at timestamptz NOT NULL
);
