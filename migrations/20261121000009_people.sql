-- People and keys: who may do what, and who did it.

-- Somebody who signs in. Advertisers' people work in workspaces; partners see what is theirs, whoever's program it is in.
ALTER TABLE users
    DROP COLUMN workspace_id,
    ADD COLUMN kind          text NOT NULL CHECK (kind IN ('advertiser', 'partner')),
    ADD COLUMN name          text NOT NULL,
    -- argon2id, in the PHC string format: parameters and salt stand in it.
    ADD COLUMN password_hash text NOT NULL,
    ADD COLUMN status        text NOT NULL DEFAULT 'active' CHECK (status IN ('active', 'suspended'));

CREATE TABLE workspace_members (
    id           bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    workspace_id bigint      NOT NULL REFERENCES workspaces (id),
    user_id      bigint      NOT NULL REFERENCES users (id),
    -- Owners and admins may do everything with every program; members what member_permissions says.
    role         text        NOT NULL CHECK (role IN ('owner', 'admin', 'member')),
    created_at   timestamptz NOT NULL DEFAULT now(),
    UNIQUE (user_id, workspace_id)
);
CREATE INDEX workspace_members_workspace ON workspace_members (workspace_id);

CREATE TABLE member_permissions (
    member_id   bigint NOT NULL REFERENCES workspace_members (id) ON DELETE CASCADE,
    program_id  bigint NOT NULL REFERENCES programs (id),
    permissions text[] NOT NULL,
    PRIMARY KEY (member_id, program_id)
);

-- A signed-in browser or command line. The token is shown once; its SHA-256 is what is stored.
CREATE TABLE sessions (
    id           bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    user_id      bigint      NOT NULL REFERENCES users (id),
    -- cli: opened by the command line's sign-in, good for the command line's routes only.
    kind         text        NOT NULL CHECK (kind IN ('dashboard', 'cli')),
    token_hash   bytea       NOT NULL UNIQUE CHECK (octet_length(token_hash) = 32),
    created_at   timestamptz NOT NULL,
    expires_at   timestamptz NOT NULL,
    revoked_at   timestamptz
);
CREATE INDEX sessions_user ON sessions (user_id) WHERE revoked_at IS NULL;

CREATE TABLE management_keys (
    id            bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    workspace_id  bigint      NOT NULL REFERENCES workspaces (id),
    name          text        NOT NULL,
    key_hash      bytea       NOT NULL UNIQUE CHECK (octet_length(key_hash) = 32),
    prefix        text        NOT NULL,
    key_masked    text        NOT NULL,
    scopes        text[]      NOT NULL,
    -- NULL: every program of the workspace.
    program_scope bigint[],
    expires_at    timestamptz,
    status        text        NOT NULL DEFAULT 'active' CHECK (status IN ('active', 'revoked')),
    created_by    bigint      NOT NULL REFERENCES users (id),
    created_at    timestamptz NOT NULL DEFAULT now(),
    revoked_at    timestamptz,
    CONSTRAINT revoked_has_time CHECK ((status = 'revoked') = (revoked_at IS NOT NULL))
);
CREATE INDEX management_keys_workspace ON management_keys (workspace_id, id);

-- A one-time link into a workspace, or to a partner's own account.
CREATE TABLE invitations (
    id           bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    token_hash   bytea       NOT NULL UNIQUE CHECK (octet_length(token_hash) = 32),
    workspace_id bigint      NOT NULL REFERENCES workspaces (id),
    email        text        NOT NULL,
    -- Exactly one of the two: the role of a member to be, or the partner whose account it will be.
    role         text        CHECK (role IN ('owner', 'admin', 'member')),
    partner_id   bigint      REFERENCES partners (id) ON DELETE CASCADE,
    -- Of a member to be: {"<program id>": ["<permission>", …]}.
    permissions  jsonb       NOT NULL DEFAULT '{}',
    created_at   timestamptz NOT NULL DEFAULT now(),
    expires_at   timestamptz NOT NULL,
    accepted_at  timestamptz,
    CONSTRAINT one_purpose CHECK (num_nonnulls(role, partner_id) = 1)
);
CREATE INDEX invitations_workspace ON invitations (workspace_id, id);

-- A command line that waits for somebody to confirm it in a browser. The state is a secret of the command line's.
CREATE TABLE cli_logins (
    id           bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    state_hash   bytea       NOT NULL UNIQUE CHECK (octet_length(state_hash) = 32),
    created_at   timestamptz NOT NULL,
    expires_at   timestamptz NOT NULL,
    -- Who confirmed it, for which workspace.
    user_id      bigint      REFERENCES users (id),
    workspace_id bigint      REFERENCES workspaces (id),
    confirmed_at timestamptz,
    -- The token was handed over: once.
    consumed_at  timestamptz,
    CONSTRAINT confirmed_by_somebody CHECK (num_nulls(user_id, workspace_id, confirmed_at) IN (0, 3)),
    CONSTRAINT consumed_after_confirmed CHECK (consumed_at IS NULL OR confirmed_at IS NOT NULL)
);

-- Who did what to which credential, setting or payout, when, from where.
CREATE TABLE audit_log (
    id           bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    created_at   timestamptz NOT NULL,
    workspace_id bigint      NOT NULL,
    program_id   bigint,
    actor        text        NOT NULL CHECK (actor IN ('user', 'key', 'operator')),
    -- The user's or key's id; an operator at the command line has none.
    actor_id     bigint,
    -- `<noun>.<what happened>`, such as `api_key.revoked`.
    action       text        NOT NULL,
    subject_id   bigint,
    -- What changed to what; never a secret.
    details      jsonb       NOT NULL DEFAULT '{}',
    address      text,
    request_id   text,
    CONSTRAINT actor_is_known CHECK ((actor = 'operator') = (actor_id IS NULL))
);
CREATE INDEX audit_log_workspace ON audit_log (workspace_id, id DESC);
CREATE TRIGGER audit_log_append_only BEFORE UPDATE OR DELETE ON audit_log
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
