-- What the CLI and the readiness check ask about a program.

ALTER TABLE programs
    -- The advertiser's own site, and whether its ownership was shown by a DNS record.
    ADD COLUMN domain               text,
    ADD COLUMN dns_verified         boolean     NOT NULL DEFAULT false,
    ADD COLUMN api_token_created_at timestamptz NOT NULL DEFAULT now();
UPDATE programs SET api_token_created_at = created_at;

-- However a token is replaced, its age starts anew.
CREATE FUNCTION date_api_token() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW.api_token_created_at := clock_timestamp();
    RETURN NEW;
END $$;
CREATE TRIGGER programs_date_api_token BEFORE UPDATE OF api_token_hash ON programs
    FOR EACH ROW WHEN (OLD.api_token_hash IS DISTINCT FROM NEW.api_token_hash)
    EXECUTE FUNCTION date_api_token();

-- The first test chain of a program that reached its partner. Not a column of programs: a change there goes to every
-- edge, and a test must move nothing.
CREATE TABLE integration_verifications (
    program_id  bigint PRIMARY KEY REFERENCES programs (id),
    verified_at timestamptz NOT NULL
);

-- The payment processor's account of a program.
CREATE TABLE processor_connections (
    program_id        bigint PRIMARY KEY REFERENCES programs (id),
    account_id        text    NOT NULL,
    status            text    NOT NULL DEFAULT 'pending' CHECK (status IN ('pending', 'connected', 'disconnected')),
    charges_enabled   boolean NOT NULL DEFAULT false,
    payouts_enabled   boolean NOT NULL DEFAULT false,
    details_submitted boolean NOT NULL DEFAULT false,
    connected_at      timestamptz
);

-- For a program's latest real events of each type, and their number since yesterday.
CREATE INDEX click_events_real ON click_events (program_id, click_timestamp DESC) WHERE NOT is_test;
CREATE INDEX lead_events_real ON lead_events (program_id, lead_timestamp DESC) WHERE NOT is_test;
CREATE INDEX sale_events_real ON sale_events (program_id, sale_date DESC) WHERE NOT is_test;
-- For the number of a program's commissions in their hold period.
CREATE INDEX commissions_program_pending ON commissions (program_id) WHERE status = 'pending';
