-- What is tracked: workspaces own programs, partners join them, links carry the membership into a URL.
-- Small tables that change slowly, so they keep foreign keys: nothing that is written often points at them.

CREATE TABLE programs (
    id                      bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    workspace_id            bigint      NOT NULL REFERENCES workspaces (id),
    name                    text        NOT NULL,
    -- For URLs: lower-case letters, digits and hyphens.
    slug                    text        NOT NULL,
    description             text,
    -- A draft works like a live program, but partners do not see it. An archived one takes no calls any more.
    status                  text        NOT NULL DEFAULT 'live' CHECK (status IN ('draft', 'live', 'archived')),
    published_at            timestamptz,
    archived_at             timestamptz,
    -- The advertiser's site, and whether a DNS record proves that they own it.
    domain                  text,
    dns_verified            boolean     NOT NULL DEFAULT false,
    -- How the program looks on partners' pages and in e-mails to them. https only.
    logo_url                text,
    -- As #rrggbb, in lower case.
    color                   text,
    -- Where partners' answers to those e-mails go.
    reply_to_email          text,

    -- ISO 4217; the currency of fixed commissions. Percentages are paid in the currency of the sale.
    currency                text        NOT NULL DEFAULT 'USD' CHECK (currency ~ '^[A-Z]{3}$'),
    attribution_model       text        NOT NULL DEFAULT 'last_click'
                            CHECK (attribution_model IN ('last_click', 'first_click', 'linear')),
    cookie_window_days      smallint    NOT NULL DEFAULT 90 CHECK (cookie_window_days BETWEEN 1 AND 365),
    attribution_window_days smallint    NOT NULL DEFAULT 60 CHECK (attribution_window_days BETWEEN 1 AND 365),
    -- NULL: browser leads count at once. 'server_required': they are provisional until the backend confirms
    -- them.
    lead_auth               text        CHECK (lead_auth IN ('server_required')),
    -- Whether clicks of bots are left out of counters and attribution.
    exclude_bots            boolean     NOT NULL DEFAULT false,
    -- Whether partners earn by their own purchases.
    self_referrals          text        NOT NULL DEFAULT 'flag' CHECK (self_referrals IN ('flag', 'refuse')),
    -- Days a commission stays pending before it is approved.
    hold_days               smallint    NOT NULL DEFAULT 15 CHECK (hold_days BETWEEN 0 AND 31),
    -- Which commissions are approved by hand only: none, those with a signal, or all.
    needs_approval          text        NOT NULL DEFAULT 'none' CHECK (needs_approval IN ('none', 'flagged', 'all')),
    -- How many referral links a partner may make.
    partner_link_limit      smallint    NOT NULL DEFAULT 10 CHECK (partner_link_limit BETWEEN 0 AND 100),
    -- Sales and refunds a minute, for each key of the program. NULL: the installation's SALE_REFUND_LIMIT.
    -- `ctl limits` sets it.
    sale_refund_limit       integer     CHECK (sale_refund_limit > 0),
    -- The types of outbound events that an endpoint or a reader of the event stream wants, one bit each: no
    -- other is written.
    wanted_events           integer     NOT NULL DEFAULT 0,

    -- SHA-256 of the tracking token; the token itself is shown once and never stored.
    api_token_hash          bytea       NOT NULL UNIQUE CHECK (octet_length(api_token_hash) = 32),
    api_token_masked        text        NOT NULL,
    api_token_created_at    timestamptz NOT NULL DEFAULT now(),
    -- Both or none. A token that is marked for rotation works until `rotate_by`, and each answer says so;
    -- making a new token clears the mark.
    key_rotation_marked_at  timestamptz,
    key_rotation_rotate_by  timestamptz,

    created_at              timestamptz NOT NULL DEFAULT now(),
    updated_at              timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT slug_is_plain CHECK (slug ~ '^[a-z0-9]+(-[a-z0-9]+)*$'),
    CONSTRAINT archived_has_time CHECK ((status = 'archived') = (archived_at IS NOT NULL)),
    CONSTRAINT key_rotation_is_whole CHECK ((key_rotation_marked_at IS NULL) = (key_rotation_rotate_by IS NULL))
);
CREATE UNIQUE INDEX programs_slug ON programs (slug);
CREATE INDEX programs_workspace ON programs (workspace_id, id);
-- For the edges' directory, which catches up after it lost its listener.
CREATE INDEX programs_updated_at ON programs (updated_at);

-- Versioned: a change is a new row with a later effective_from, never an update, so that the policy of a
-- commission can always be shown.
CREATE TABLE commission_policies (
    id                      bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    program_id              bigint      NOT NULL REFERENCES programs (id),
    -- NULL: the program's default. Otherwise it applies to sales of this product only.
    product_id              text,
    effective_from          timestamptz NOT NULL DEFAULT now(),
    commission_type         text        NOT NULL
                            CHECK (commission_type IN ('cps_recurring', 'cps_lifetime', 'cps_one_time')),
    default_duration_months integer,
    -- Exactly one of the two: a share of the sale in basis points, or a fixed amount in cents of `currency`.
    rate_bps                integer     CHECK (rate_bps BETWEEN 0 AND 10000),
    fixed_cents             bigint      CHECK (fixed_cents BETWEEN 0 AND 100000000000000),
    currency                text        CHECK (currency ~ '^[A-Z]{3}$'),
    created_at              timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT one_rate CHECK (num_nonnulls(rate_bps, fixed_cents) = 1),
    CONSTRAINT fixed_has_currency CHECK ((fixed_cents IS NULL) = (currency IS NULL)),
    CONSTRAINT duration_fits_type CHECK (
        CASE commission_type
            WHEN 'cps_recurring' THEN coalesce(default_duration_months >= 1, false)
            WHEN 'cps_lifetime' THEN default_duration_months IS NULL
            ELSE coalesce(default_duration_months, 0) = 0
        END)
);
CREATE INDEX commission_policies_program ON commission_policies (program_id, effective_from);

-- Tracking tokens beside a program's own: one for each server, limited to what that server does; and the
-- program's previous token, for as long as it is still accepted.
CREATE TABLE tracking_tokens (
    id           bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    program_id   bigint      NOT NULL REFERENCES programs (id),
    -- NULL: it was the program's own until a new one was made.
    name         text,
    token_hash   bytea       NOT NULL UNIQUE CHECK (octet_length(token_hash) = 32),
    token_masked text        NOT NULL,
    scopes       text[]      NOT NULL
                 CHECK (cardinality(scopes) > 0 AND scopes <@ ARRAY['sale', 'refund', 'lead', 'connect']),
    -- As in programs: both or none, announced with each answer, and rejected from rotate_by on.
    marked_at    timestamptz,
    rotate_by    timestamptz,
    -- NULL: a management key made it, or it has no name.
    created_by   bigint      REFERENCES users (id),
    created_at   timestamptz NOT NULL,
    revoked_at   timestamptz,
    CONSTRAINT mark_is_whole CHECK (num_nulls(marked_at, rotate_by) IN (0, 2))
);
CREATE INDEX tracking_tokens_program ON tracking_tokens (program_id, id);

-- All tokens that a program accepts, as the edges' directory holds them.
CREATE VIEW accepted_tokens AS
SELECT id AS program_id, api_token_hash AS token_hash, ARRAY['sale', 'refund', 'lead', 'connect'] AS scopes,
       key_rotation_marked_at AS marked_at, key_rotation_rotate_by AS rotate_by
FROM programs
UNION ALL
SELECT program_id, token_hash, scopes, marked_at, rotate_by
FROM tracking_tokens WHERE revoked_at IS NULL;

-- When a token was last used, to the hour, to find those that are no longer needed. Not a column of the
-- tokens: a change there goes to each edge.
CREATE TABLE token_uses (
    token_hash   bytea       PRIMARY KEY CHECK (octet_length(token_hash) = 32),
    last_used_at timestamptz NOT NULL
);

-- When a program's first test chain reached its partner. Not a column of programs: a change there goes to
-- every edge, and a test must change nothing.
CREATE TABLE integration_verifications (
    program_id  bigint      PRIMARY KEY REFERENCES programs (id),
    verified_at timestamptz NOT NULL
);

-- A workspace's record of a partner. One account may hold such records of many workspaces, and no workspace
-- sees the others'.
CREATE TABLE partners (
    id           bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    workspace_id bigint      REFERENCES workspaces (id),
    -- The partner's account, once there is one.
    user_id      bigint      REFERENCES users (id),
    name         text        NOT NULL,
    -- In lower case, as in users.
    email        text,
    created_at   timestamptz NOT NULL DEFAULT now()
);
CREATE UNIQUE INDEX partners_email ON partners (workspace_id, lower(email)) WHERE email IS NOT NULL;
CREATE INDEX partners_user ON partners (user_id) WHERE user_id IS NOT NULL;

-- A partner's membership of a program. It outlives the partner's record, which may be removed while sales
-- under the membership still have to be accounted for: hence SET NULL.
CREATE TABLE partner_programs (
    id           bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    program_id   bigint      NOT NULL REFERENCES programs (id),
    partner_id   bigint      REFERENCES partners (id) ON DELETE SET NULL,
    status       text        NOT NULL DEFAULT 'approved' CHECK (status IN ('pending', 'approved', 'suspended')),
    -- Real clicks on any link of this membership. A batch of clicks writes their sum once.
    clicks       bigint      NOT NULL DEFAULT 0,
    last_clicked timestamptz,
    created_at   timestamptz NOT NULL DEFAULT now(),
    updated_at   timestamptz NOT NULL DEFAULT now(),
    UNIQUE (program_id, partner_id)
) WITH (fillfactor = 50); -- room for in-page (HOT) updates of the counters
-- For a program's list of partners, newest first.
CREATE INDEX partner_programs_program ON partner_programs (program_id, id DESC);
-- For a partner's own view.
CREATE INDEX partner_programs_partner ON partner_programs (partner_id);

-- What an advertiser notes about a partner in a program; partners never see it.
CREATE TABLE partner_notes (
    partner_program_id bigint      PRIMARY KEY REFERENCES partner_programs (id) ON DELETE CASCADE,
    -- A note is personal data: it is deleted with the partner's record.
    partner_id         bigint      NOT NULL REFERENCES partners (id) ON DELETE CASCADE,
    text               text        NOT NULL CHECK (text <> ''),
    updated_at         timestamptz NOT NULL
);
CREATE INDEX partner_notes_partner ON partner_notes (partner_id);

CREATE TABLE referral_links (
    id                 bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    short_code         text        NOT NULL UNIQUE CHECK (short_code <> ''),
    -- A click on a link without a partner or a program is refused.
    program_id         bigint      REFERENCES programs (id),
    partner_id         bigint      REFERENCES partners (id) ON DELETE SET NULL,
    -- The membership that earns by this link. NULL until the partner has joined the program.
    partner_program_id bigint      REFERENCES partner_programs (id),
    status             text        NOT NULL DEFAULT 'active' CHECK (status IN ('active', 'inactive')),
    -- A partner cannot turn on what the advertiser turned off.
    turned_off_by      text        CHECK (turned_off_by IN ('advertiser', 'partner')),
    -- Only these count against partner_link_limit.
    made_by_partner    boolean     NOT NULL DEFAULT false,
    -- Real clicks. A batch of clicks writes their sum once.
    clicks             bigint      NOT NULL DEFAULT 0,
    last_clicked       timestamptz,
    created_at         timestamptz NOT NULL DEFAULT now(),
    updated_at         timestamptz NOT NULL DEFAULT now()
) WITH (fillfactor = 50);
CREATE INDEX referral_links_partner_program ON referral_links (partner_program_id);
-- For a program's list of links, newest first.
CREATE INDEX referral_links_program ON referral_links (program_id, id DESC);
-- For a partner's own view.
CREATE INDEX referral_links_partner ON referral_links (partner_id);
-- For the edges' directory, as programs_updated_at.
CREATE INDEX referral_links_updated_at ON referral_links (updated_at);

-- Invalidation of the edges' directory (programs, tokens, links). The payload names the row; the listener
-- reads it again, so a notification that is lost or repeated does no harm.
CREATE FUNCTION notify_directory() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_notify('directory', TG_ARGV[0] || ':' || NEW.id);
    RETURN NULL;
END $$;

CREATE FUNCTION touch_updated_at() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW.updated_at := clock_timestamp();
    RETURN NEW;
END $$;

-- The age of a token begins when it replaces another, in whatever way.
CREATE FUNCTION date_api_token() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW.api_token_created_at := clock_timestamp();
    RETURN NEW;
END $$;

-- The directory listens to programs: a change of a token counts as one of its program.
CREATE FUNCTION touch_program() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE programs SET updated_at = clock_timestamp() WHERE id = NEW.program_id;
    RETURN NULL;
END $$;

-- A link works while it is active, its membership is approved and its program is not archived: a change of
-- one of these counts as a change of the links.
CREATE FUNCTION touch_links_of_membership() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE referral_links SET status = status WHERE partner_program_id = NEW.id;
    RETURN NULL;
END $$;

-- Batches of clicks lock links in ascending order of their ids. So must all that changes several links, or
-- two transactions may wait for each other.
CREATE FUNCTION touch_links_of_program() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM FROM referral_links WHERE program_id = NEW.id ORDER BY id FOR NO KEY UPDATE;
    UPDATE referral_links SET status = status WHERE program_id = NEW.id;
    RETURN NULL;
END $$;

CREATE TRIGGER programs_touch BEFORE UPDATE ON programs
    FOR EACH ROW EXECUTE FUNCTION touch_updated_at();
CREATE TRIGGER programs_notify AFTER INSERT OR UPDATE ON programs
    FOR EACH ROW EXECUTE FUNCTION notify_directory('program');
CREATE TRIGGER programs_date_api_token BEFORE UPDATE OF api_token_hash ON programs
    FOR EACH ROW WHEN (OLD.api_token_hash IS DISTINCT FROM NEW.api_token_hash)
    EXECUTE FUNCTION date_api_token();
CREATE TRIGGER programs_touch_links AFTER UPDATE OF status ON programs
    FOR EACH ROW WHEN ((OLD.status = 'archived') IS DISTINCT FROM (NEW.status = 'archived'))
    EXECUTE FUNCTION touch_links_of_program();
CREATE TRIGGER tracking_tokens_touch_program AFTER INSERT OR UPDATE ON tracking_tokens
    FOR EACH ROW EXECUTE FUNCTION touch_program();
CREATE TRIGGER partner_programs_touch_links AFTER UPDATE OF status ON partner_programs
    FOR EACH ROW WHEN (OLD.status IS DISTINCT FROM NEW.status) EXECUTE FUNCTION touch_links_of_membership();
-- Not on the counters: every batch of clicks writes them, and the directory does not hold them.
CREATE TRIGGER referral_links_touch
    BEFORE UPDATE OF short_code, program_id, partner_id, partner_program_id, status ON referral_links
    FOR EACH ROW EXECUTE FUNCTION touch_updated_at();
CREATE TRIGGER referral_links_notify
    AFTER INSERT OR UPDATE OF short_code, program_id, partner_id, partner_program_id, status ON referral_links
    FOR EACH ROW EXECUTE FUNCTION notify_directory('referral_link');

-- What people may do in programs, and what partners are invited to.
ALTER TABLE member_permissions ADD FOREIGN KEY (program_id) REFERENCES programs (id);
ALTER TABLE invitations
    ADD FOREIGN KEY (partner_id) REFERENCES partners (id) ON DELETE CASCADE,
    ADD FOREIGN KEY (program_id) REFERENCES programs (id);
