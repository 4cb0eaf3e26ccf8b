-- Who exists: workspaces own programs, partners join them, links carry the join into a URL.
-- Small, slowly changing tables. Foreign keys are kept here because nothing hot points at them.

CREATE TABLE workspaces (
    id         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name       text        NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now()
);

CREATE TABLE users (
    id           bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    workspace_id bigint      REFERENCES workspaces (id),
    email        text        NOT NULL,
    created_at   timestamptz NOT NULL DEFAULT now()
);
CREATE UNIQUE INDEX users_email ON users (lower(email));

CREATE TABLE programs (
    id                      bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    workspace_id            bigint      NOT NULL REFERENCES workspaces (id),
    name                    text        NOT NULL,
    -- ISO 4217; the currency of fixed commissions. Percentages are paid in the currency of the sale.
    currency                text        NOT NULL DEFAULT 'USD' CHECK (currency ~ '^[A-Z]{3}$'),
    attribution_model       text        NOT NULL DEFAULT 'last_click'
                            CHECK (attribution_model IN ('last_click', 'first_click', 'linear')),
    cookie_window_days      smallint    NOT NULL DEFAULT 90 CHECK (cookie_window_days BETWEEN 1 AND 365),
    attribution_window_days smallint    NOT NULL DEFAULT 60 CHECK (attribution_window_days BETWEEN 1 AND 365),
    -- NULL: browser leads count at once. 'server_required': they stay provisional until the backend confirms.
    lead_auth               text        CHECK (lead_auth IN ('server_required')),
    -- Days a commission stays pending before it is approved.
    hold_days               smallint    NOT NULL DEFAULT 15 CHECK (hold_days BETWEEN 0 AND 31),
    -- SHA-256 of the tracking token; the token itself is shown once and never stored.
    api_token_hash          bytea       NOT NULL UNIQUE CHECK (octet_length(api_token_hash) = 32),
    api_token_masked        text        NOT NULL,
    created_at              timestamptz NOT NULL DEFAULT now(),
    -- Read by the edge's directory to catch up after it lost its listener.
    updated_at              timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX programs_updated_at ON programs (updated_at);

-- Versioned: a change is a new row with a later effective_from, never an update, so that the policy a
-- commission was computed under can always be shown.
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

CREATE TABLE partners (
    id         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name       text        NOT NULL,
    email      text,
    created_at timestamptz NOT NULL DEFAULT now()
);

-- A partner's membership of a program. It outlives the partner's account: the account may be removed
-- while sales under the membership still have to be accounted for, hence SET NULL.
CREATE TABLE partner_programs (
    id           bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    program_id   bigint      NOT NULL REFERENCES programs (id),
    partner_id   bigint      REFERENCES partners (id) ON DELETE SET NULL,
    status       text        NOT NULL DEFAULT 'approved'
                 CHECK (status IN ('pending', 'approved', 'suspended')),
    -- Real clicks on any link of this membership; written pre-summed, once per batch.
    clicks       bigint      NOT NULL DEFAULT 0,
    last_clicked timestamptz,
    created_at   timestamptz NOT NULL DEFAULT now(),
    UNIQUE (program_id, partner_id)
) WITH (fillfactor = 50); -- room for in-page (HOT) updates of the counters

CREATE TABLE referral_links (
    id                 bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    short_code         text        NOT NULL UNIQUE CHECK (short_code <> ''),
    -- A link without a partner or a program is an invalid configuration: it is refused at click time.
    program_id         bigint      REFERENCES programs (id),
    partner_id         bigint      REFERENCES partners (id) ON DELETE SET NULL,
    -- The membership that earns what this link brings. NULL until the partner has joined the program.
    partner_program_id bigint      REFERENCES partner_programs (id),
    status             text        NOT NULL DEFAULT 'active' CHECK (status IN ('active', 'inactive')),
    -- Real clicks; written pre-summed, once per batch, by the click step.
    clicks             bigint      NOT NULL DEFAULT 0,
    last_clicked       timestamptz,
    created_at         timestamptz NOT NULL DEFAULT now(),
    updated_at         timestamptz NOT NULL DEFAULT now()
) WITH (fillfactor = 50);
CREATE INDEX referral_links_updated_at ON referral_links (updated_at);
CREATE INDEX referral_links_partner_program ON referral_links (partner_program_id);

-- Push invalidation of the edge's directory (programs, tokens, links). The payload names the row;
-- the listener re-reads it, so a lost or repeated notification is harmless.
CREATE FUNCTION touch_updated_at() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW.updated_at := clock_timestamp();
    RETURN NEW;
END $$;

CREATE FUNCTION notify_directory() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_notify('directory', TG_ARGV[0] || ':' || NEW.id);
    RETURN NULL;
END $$;

CREATE TRIGGER programs_touch BEFORE UPDATE ON programs
    FOR EACH ROW EXECUTE FUNCTION touch_updated_at();
CREATE TRIGGER programs_notify AFTER INSERT OR UPDATE ON programs
    FOR EACH ROW EXECUTE FUNCTION notify_directory('program');
-- Not on the counters: every click batch writes them, and no listener cares.
CREATE TRIGGER referral_links_touch
    BEFORE UPDATE OF short_code, program_id, partner_id, partner_program_id, status ON referral_links
    FOR EACH ROW EXECUTE FUNCTION touch_updated_at();
CREATE TRIGGER referral_links_notify
    AFTER INSERT OR UPDATE OF short_code, program_id, partner_id, partner_program_id, status ON referral_links
    FOR EACH ROW EXECUTE FUNCTION notify_directory('referral_link');
