-- What keeps it exact and accountable: the outbox, notifications, dead letters, the audit log, verification.

-- Messages that must follow a commit. The relay publishes them and then deletes them.
CREATE TABLE outbox (
    id         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    noun       text        NOT NULL,
    payload    text        NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now()
);

CREATE TABLE notifications (
    id         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    event_id   uuid        NOT NULL,
    program_id bigint      NOT NULL,
    recipient  text        NOT NULL CHECK (recipient IN ('partner', 'advertiser')),
    -- NULL for the advertiser.
    partner_id bigint,
    kind       text        NOT NULL,
    message    text        NOT NULL,
    details    jsonb       NOT NULL,
    read_at    timestamptz,
    created_at timestamptz NOT NULL DEFAULT now(),
    UNIQUE (event_id),
    CONSTRAINT partner_recipient_has_partner CHECK ((recipient = 'partner') = (partner_id IS NOT NULL))
) WITH (
    autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 100000,
    autovacuum_vacuum_insert_scale_factor = 0, autovacuum_vacuum_insert_threshold = 1000000,
    autovacuum_freeze_min_age = 1000000,
    autovacuum_analyze_scale_factor = 0.02, autovacuum_analyze_threshold = 1000);
CREATE INDEX notifications_program ON notifications (program_id, id);
-- Advertisers and partners list their own, newest first, and count the unread ones.
CREATE INDEX notifications_partner ON notifications (partner_id, id) WHERE partner_id IS NOT NULL;
CREATE INDEX notifications_advertiser ON notifications (program_id, id DESC) WHERE recipient = 'advertiser';
CREATE INDEX notifications_advertiser_unread ON notifications (program_id)
    WHERE recipient = 'advertiser' AND read_at IS NULL;
-- For exports and erasures: notifications about a customer's refunds.
CREATE INDEX notifications_sale ON notifications ((details ->> 'sale_id')) WHERE details ->> 'sale_id' IS NOT NULL;

-- Records that no retry can settle, with all that is needed to examine and to replay them.
CREATE TABLE dead_letters (
    id          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    subject     text        NOT NULL,
    event_id    uuid,
    -- As the record names it. NULL: it names none, or cannot be read; then only an operator sees the dead
    -- letter.
    program_id  bigint,
    payload     bytea       NOT NULL,
    reason      text        NOT NULL,
    deliveries  integer     NOT NULL,
    created_at  timestamptz NOT NULL DEFAULT now(),
    replayed_at timestamptz
);
-- One record is one dead letter, however often its message is delivered again.
CREATE UNIQUE INDEX dead_letters_event ON dead_letters (subject, event_id) WHERE replayed_at IS NULL;
-- For the operator's list.
CREATE INDEX dead_letters_open ON dead_letters (id) WHERE replayed_at IS NULL;
-- For exports and erasures, which look for a customer's among their program's.
CREATE INDEX dead_letters_program ON dead_letters (program_id, id);

-- Who did what to which credential, setting or payout, when, and from where.
CREATE TABLE audit_log (
    id           bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    created_at   timestamptz NOT NULL,
    workspace_id bigint      NOT NULL,
    program_id   bigint,
    -- program: a command line that connects a program's payment processor with the program's own key.
    actor        text        NOT NULL CHECK (actor IN ('user', 'key', 'program', 'operator')),
    -- The user's, key's or program's id; an operator at the command line has none.
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
CREATE TRIGGER audit_log_kept BEFORE TRUNCATE ON audit_log
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

-- The progress of the worker's continuous verification: one row a check and order of its rows, which are in
-- the code.
CREATE TABLE verifications (
    part        text        PRIMARY KEY,
    -- Key of the last row that was verified.
    after       text        NOT NULL,
    round_began timestamptz NOT NULL DEFAULT now(),
    -- What had settled by then is verified.
    verified_at timestamptz NOT NULL DEFAULT now(),
    -- When the next slice is verified.
    due_at      timestamptz NOT NULL DEFAULT now(),
    -- Rows that break the invariant in the slice after `after`: it is verified again until there are none.
    differences bigint      NOT NULL DEFAULT 0
);
