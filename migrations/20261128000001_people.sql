-- Who signs in, by what, and what they may do: workspaces, accounts, sessions, keys, invitations. Small
-- tables that change slowly, so they keep foreign keys. Tokens are shown once. What is stored of them is
-- their SHA-256, in columns that end in `_hash`; secrets that the service must read again are sealed with a
-- key of the installation, in columns that end in `_sealed`.

CREATE TABLE workspaces (
    id                     bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name                   text        NOT NULL,
    -- Members without a second factor can do nothing but set one up.
    second_factor_required boolean     NOT NULL DEFAULT false,
    created_at             timestamptz NOT NULL DEFAULT now()
);

-- An account. Advertisers' people work in workspaces; a partner sees their own data in all workspaces.
CREATE TABLE users (
    id              bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    kind            text        NOT NULL CHECK (kind IN ('advertiser', 'partner')),
    name            text        NOT NULL,
    -- Stored in lower case, as the service folds it, whatever the database's collation does with letters
    -- beyond ASCII.
    email           text        NOT NULL,
    -- When the account's owner proved that the address is theirs.
    verified_at     timestamptz,
    -- argon2id, in the PHC string format, which includes parameters and salt.
    password_hash   text        NOT NULL,
    status          text        NOT NULL DEFAULT 'active' CHECK (status IN ('active', 'suspended')),
    -- Which e-mails the user wants. A partner's summary of each week.
    weekly_summary  boolean     NOT NULL DEFAULT true,
    -- A member's notices about programs: endpoints that were disabled, events to review.
    program_notices boolean     NOT NULL DEFAULT true,
    created_at      timestamptz NOT NULL DEFAULT now()
);
CREATE UNIQUE INDEX users_email ON users (lower(email));

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
    program_id  bigint NOT NULL,
    permissions text[] NOT NULL,
    PRIMARY KEY (member_id, program_id)
);

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
    -- To the hour: a key that is no longer used can be revoked.
    last_used_at  timestamptz,
    revoked_at    timestamptz,
    CONSTRAINT revoked_has_time CHECK ((status = 'revoked') = (revoked_at IS NOT NULL))
);
CREATE INDEX management_keys_workspace ON management_keys (workspace_id, id);

-- Owners and admins create keys, and a key is valid while its creator is one.
CREATE FUNCTION creator_runs_workspace(k management_keys) RETURNS boolean LANGUAGE sql STABLE AS $$
    SELECT EXISTS (
        SELECT FROM workspace_members m
        JOIN users u ON u.id = m.user_id AND u.status = 'active'
        WHERE m.workspace_id = k.workspace_id AND m.user_id = k.created_by AND m.role IN ('owner', 'admin'))
$$;

-- A one-time link into a workspace, or to a partner's own account.
CREATE TABLE invitations (
    id             bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    token_hash     bytea       NOT NULL UNIQUE CHECK (octet_length(token_hash) = 32),
    workspace_id   bigint      NOT NULL REFERENCES workspaces (id),
    email          text        NOT NULL,
    -- Exactly one of the two: the role of a future member, or the partner whose account it will be.
    role           text        CHECK (role IN ('owner', 'admin', 'member')),
    partner_id     bigint,
    -- The program that a partner is invited to.
    program_id     bigint,
    -- Of a future member: {"<program id>": ["<permission>", …]}.
    permissions    jsonb       NOT NULL DEFAULT '{}',
    -- At most one of the two. An invitation is valid while its inviter may still make it.
    invited_by     bigint      REFERENCES users (id),
    invited_by_key bigint      REFERENCES management_keys (id),
    -- The link was sent by e-mail and shown to nobody else: accepting it verifies the address.
    emailed        boolean     NOT NULL DEFAULT false,
    created_at     timestamptz NOT NULL DEFAULT now(),
    expires_at     timestamptz NOT NULL,
    accepted_at    timestamptz,
    -- Taken back, or replaced by a later one.
    withdrawn_at   timestamptz,
    CONSTRAINT one_purpose CHECK (num_nonnulls(role, partner_id) = 1),
    CONSTRAINT one_inviter CHECK (num_nonnulls(invited_by, invited_by_key) <= 1),
    CONSTRAINT one_end CHECK (num_nonnulls(accepted_at, withdrawn_at) <= 1),
    -- A partner comes through a program, a member into the workspace.
    CONSTRAINT partners_come_through_a_program CHECK ((partner_id IS NULL) = (program_id IS NULL))
);
CREATE INDEX invitations_workspace ON invitations (workspace_id, id);
-- For withdrawing a partner's earlier invitation.
CREATE INDEX invitations_partner ON invitations (partner_id, program_id) WHERE partner_id IS NOT NULL;

-- A key acts for the person who created it, so that person must have the right.
CREATE FUNCTION inviter_may_invite(i invitations) RETURNS boolean LANGUAGE sql STABLE AS $$
    SELECT EXISTS (
        SELECT FROM workspace_members m
        JOIN users u ON u.id = m.user_id AND u.status = 'active'
        LEFT JOIN member_permissions g ON g.member_id = m.id AND g.program_id = i.program_id
        LEFT JOIN management_keys k ON k.id = i.invited_by_key
        WHERE m.workspace_id = i.workspace_id AND m.user_id = coalesce(i.invited_by, k.created_by)
          AND (i.invited_by_key IS NULL OR (k.status = 'active' AND m.role IN ('owner', 'admin')))
          AND (m.role = 'owner'
               OR (m.role = 'admin' AND i.role IS DISTINCT FROM 'owner')
               OR (i.role IS NULL AND 'program:update' = ANY (g.permissions))))
$$;

-- A signed-in browser or command line.
CREATE TABLE sessions (
    id           bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    user_id      bigint      NOT NULL REFERENCES users (id),
    -- cli: opened by the command line's sign-in, valid for the command line's routes and one workspace only.
    kind         text        NOT NULL CHECK (kind IN ('dashboard', 'cli')),
    workspace_id bigint      REFERENCES workspaces (id),
    token_hash   bytea       NOT NULL UNIQUE CHECK (octet_length(token_hash) = 32),
    -- A passkey opened it, which counts as two factors.
    by_passkey   boolean     NOT NULL DEFAULT false,
    created_at   timestamptz NOT NULL,
    expires_at   timestamptz NOT NULL,
    last_used_at timestamptz,
    -- When it ends unless it is used before.
    idle_ends_at timestamptz,
    -- When its owner last gave the password in it. Sensitive actions require that to be recent.
    proved_at    timestamptz,
    -- Where it was last used, for its owner to see.
    address      text,
    country      text,
    -- As the browser or command line names itself, shortened.
    user_agent   text,
    revoked_at   timestamptz,
    CONSTRAINT cli_session_has_workspace CHECK ((kind = 'cli') = (workspace_id IS NOT NULL))
);
CREATE INDEX sessions_user ON sessions (user_id) WHERE revoked_at IS NULL;

-- A command line that waits until its user confirms it in a browser. The command line keeps the state, and
-- collects its token with it; its user compares the user code, and confirms that.
CREATE TABLE cli_logins (
    id             bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    state_hash     bytea       NOT NULL UNIQUE CHECK (octet_length(state_hash) = 32),
    user_code_hash bytea       NOT NULL UNIQUE CHECK (octet_length(user_code_hash) = 32),
    -- Where it began, shown to the user who confirms it.
    address        text,
    user_agent     text,
    created_at     timestamptz NOT NULL,
    expires_at     timestamptz NOT NULL,
    -- Who confirmed it, for which workspace.
    user_id        bigint      REFERENCES users (id),
    workspace_id   bigint      REFERENCES workspaces (id),
    confirmed_at   timestamptz,
    -- When the token was handed over, which happens once.
    consumed_at    timestamptz,
    CONSTRAINT confirmed_by_somebody CHECK (num_nulls(user_id, workspace_id, confirmed_at) IN (0, 3)),
    CONSTRAINT consumed_after_confirmed CHECK (consumed_at IS NULL OR confirmed_at IS NOT NULL)
);
-- For deleting expired logins.
CREATE INDEX cli_logins_expires_at ON cli_logins (expires_at);

-- An authenticator app (RFC 6238), which shows a code to enter beside the password.
CREATE TABLE second_factors (
    user_id       bigint      PRIMARY KEY REFERENCES users (id),
    -- The secret that the app shares with the service.
    secret_sealed bytea       NOT NULL,
    created_at    timestamptz NOT NULL,
    -- When a first code proved that the app has the secret. Until then no code is asked for.
    enabled_at    timestamptz,
    -- The latest half minute since 1970 whose code was accepted: each is accepted once.
    last_step     bigint      NOT NULL DEFAULT 0
);

-- For users who have lost the app: each code is valid once.
CREATE TABLE recovery_codes (
    user_id   bigint      NOT NULL REFERENCES second_factors (user_id) ON DELETE CASCADE,
    code_hash bytea       NOT NULL CHECK (octet_length(code_hash) = 32),
    used_at   timestamptz,
    PRIMARY KEY (user_id, code_hash)
);

-- A device's key that signs its user in, in place of password and code.
CREATE TABLE passkeys (
    id            bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    user_id       bigint      NOT NULL REFERENCES users (id),
    name          text        NOT NULL,
    credential_id bytea       NOT NULL UNIQUE,
    -- The public key, with what the device said about it, and its counter.
    credential    jsonb       NOT NULL,
    created_at    timestamptz NOT NULL,
    last_used_at  timestamptz
);
CREATE INDEX passkeys_user ON passkeys (user_id, id);

-- What a device is asked to sign: each challenge is valid once, for minutes.
CREATE TABLE passkey_challenges (
    handle_hash bytea       PRIMARY KEY CHECK (octet_length(handle_hash) = 32),
    -- Who adds a passkey. NULL: a passkey is shown to sign in, and identifies its user.
    user_id     bigint      REFERENCES users (id),
    state       jsonb       NOT NULL,
    expires_at  timestamptz NOT NULL
);
-- For deleting expired challenges.
CREATE INDEX passkey_challenges_expires_at ON passkey_challenges (expires_at);

-- Sign-ins to an account that failed since the last one that succeeded, and when the audit log last said so:
-- it gets one entry an hour, however many there are.
CREATE TABLE failed_sign_ins (
    user_id  bigint      PRIMARY KEY REFERENCES users (id),
    failed   integer     NOT NULL,
    noted_at timestamptz NOT NULL
);

-- Links that are e-mailed to an account's owner, each valid once.
CREATE TABLE one_time_links (
    id         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    -- Replaces a forgotten password, or proves that the account's address is its owner's.
    purpose    text        NOT NULL CHECK (purpose IN ('password_reset', 'address_verification')),
    user_id    bigint      NOT NULL REFERENCES users (id),
    token_hash bytea       NOT NULL UNIQUE CHECK (octet_length(token_hash) = 32),
    created_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL,
    -- This or another link was used, or the purpose was fulfilled without a link.
    ended_at   timestamptz
);
CREATE INDEX one_time_links_user ON one_time_links (user_id) WHERE ended_at IS NULL;
-- For deleting expired links.
CREATE INDEX one_time_links_expired ON one_time_links (expires_at);
