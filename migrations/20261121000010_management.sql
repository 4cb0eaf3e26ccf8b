-- What the management API keeps of programs, partners and payouts.

ALTER TABLE programs
    -- For URLs; lower-case letters, digits and hyphens.
    ADD COLUMN slug         text,
    ADD COLUMN description  text,
    -- A draft works like a live program; going live is what shows it to partners. Archived ones take no calls any more.
    ADD COLUMN status       text NOT NULL DEFAULT 'live' CHECK (status IN ('draft', 'live', 'archived')),
    ADD COLUMN published_at timestamptz,
    ADD COLUMN archived_at  timestamptz,
    ADD CONSTRAINT archived_has_time CHECK ((status = 'archived') = (archived_at IS NOT NULL));
UPDATE programs SET slug = 'program-' || id, published_at = created_at;
ALTER TABLE programs
    ALTER COLUMN slug SET NOT NULL,
    ADD CONSTRAINT slug_is_plain CHECK (slug ~ '^[a-z0-9]+(-[a-z0-9]+)*$');
CREATE UNIQUE INDEX programs_slug ON programs (slug);
CREATE INDEX programs_workspace ON programs (workspace_id, id);

-- A partner is one workspace's record of somebody; that somebody's account may hold such records of many workspaces,
-- and none of them sees the others'.
ALTER TABLE partners
    ADD COLUMN workspace_id bigint REFERENCES workspaces (id),
    ADD COLUMN user_id      bigint REFERENCES users (id);
UPDATE partners p SET workspace_id = (
    SELECT min(g.workspace_id) FROM partner_programs m JOIN programs g ON g.id = m.program_id WHERE m.partner_id = p.id);
CREATE UNIQUE INDEX partners_email ON partners (workspace_id, lower(email)) WHERE email IS NOT NULL;
CREATE INDEX partners_user ON partners (user_id) WHERE user_id IS NOT NULL;

ALTER TABLE partner_programs ADD COLUMN updated_at timestamptz NOT NULL DEFAULT now();

-- A link works while it is active, its membership approved and its program not archived: whoever changes one of these
-- changes what the edges know of the links.
CREATE FUNCTION touch_links_of_membership() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE referral_links SET status = status WHERE partner_program_id = NEW.id;
    RETURN NULL;
END $$;
CREATE TRIGGER partner_programs_touch_links AFTER UPDATE OF status ON partner_programs
    FOR EACH ROW WHEN (OLD.status IS DISTINCT FROM NEW.status) EXECUTE FUNCTION touch_links_of_membership();
CREATE FUNCTION touch_links_of_program() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE referral_links SET status = status WHERE program_id = NEW.id;
    RETURN NULL;
END $$;
CREATE TRIGGER programs_touch_links AFTER UPDATE OF status ON programs
    FOR EACH ROW WHEN ((OLD.status = 'archived') IS DISTINCT FROM (NEW.status = 'archived'))
    EXECUTE FUNCTION touch_links_of_program();

-- A batch of commissions paid together, to one or many partners, in one currency.
CREATE TABLE payouts (
    id               bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    -- Its entries in the ledger are of this group.
    event_id         uuid        NOT NULL UNIQUE,
    program_id       bigint      NOT NULL REFERENCES programs (id),
    currency         text        NOT NULL,
    amount_cents     bigint      NOT NULL CHECK (amount_cents >= 0),
    commission_count integer     NOT NULL CHECK (commission_count > 0),
    -- The advertiser's own words: a bank reference, a month.
    reference        text,
    created_at       timestamptz NOT NULL
);
CREATE INDEX payouts_program ON payouts (program_id, id DESC);
ALTER TABLE commissions ADD COLUMN payout_id bigint REFERENCES payouts (id);
CREATE INDEX commissions_payout ON commissions (payout_id) WHERE payout_id IS NOT NULL;
-- For lists, newest first: a program's, a partner's.
CREATE INDEX commissions_program ON commissions (program_id, id DESC);
CREATE INDEX commissions_partner ON commissions (partner_id, id DESC);

ALTER TABLE processor_connections
    ADD COLUMN webhook_endpoint_id text,
    -- Sealed with a key of the installation; the one before is accepted until it expires.
    ADD COLUMN webhook_secret_sealed            bytea,
    ADD COLUMN previous_webhook_secret_sealed   bytea,
    ADD COLUMN previous_webhook_secret_until    timestamptz,
    ADD COLUMN updated_at                       timestamptz NOT NULL DEFAULT now(),
    ADD CONSTRAINT previous_secret_is_whole
        CHECK ((previous_webhook_secret_sealed IS NULL) = (previous_webhook_secret_until IS NULL));
-- Webhooks of a platform name the account they are about.
CREATE INDEX processor_connections_account ON processor_connections (account_id);
