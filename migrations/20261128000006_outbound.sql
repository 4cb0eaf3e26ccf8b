-- What goes out: events to webhook endpoints and to readers of the event stream, and e-mails.

CREATE TABLE webhook_endpoints (
    id                     bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    program_id             bigint      NOT NULL REFERENCES programs (id),
    url                    text        NOT NULL,
    description            text        NOT NULL DEFAULT '',
    event_types            text[]      NOT NULL CHECK (event_types <> '{}'),
    secret_sealed          bytea       NOT NULL,
    -- Signs beside the current one while a secret is replaced.
    previous_secret_sealed bytea,
    previous_secret_until  timestamptz,
    created_at             timestamptz NOT NULL,
    -- Of deliveries that are not replays. The first failure since the last success, and the last one.
    failing_since          timestamptz,
    last_failure_at        timestamptz,
    last_success_at        timestamptz,
    disabled_at            timestamptz,
    disabled_reason        text        CHECK (disabled_reason IN ('by_hand', 'gone', 'failing')),
    -- When the program's members were notified that it was disabled.
    noticed_at             timestamptz,
    CHECK ((disabled_at IS NULL) = (disabled_reason IS NULL)),
    CHECK ((previous_secret_sealed IS NULL) = (previous_secret_until IS NULL))
);
CREATE INDEX webhook_endpoints_program ON webhook_endpoints (program_id, id);

-- Programs whose event stream is read. What happens in them is written to outbound_events, and their clicks
-- are marked there.
CREATE TABLE event_streams (
    program_id   bigint      PRIMARY KEY REFERENCES programs (id),
    -- What happened before is not in the stream.
    since        timestamptz NOT NULL,
    -- To the hour. A stream that is no longer read is turned off.
    last_read_at timestamptz NOT NULL
);

-- One row an event, written in the transaction that causes it. Ids are assigned while that transaction holds
-- its locks: of two events of one customer, the later one has the higher id. Positions are assigned after the
-- commit, one batch at a time, in the order of ids: a reader who has read up to a position has missed nothing
-- below it.
CREATE SEQUENCE outbound_event_ids AS bigint;
CREATE SEQUENCE outbound_event_positions AS bigint;
CREATE TABLE outbound_events (
    id               bigint      NOT NULL DEFAULT nextval('outbound_event_ids'),
    -- Public: `evt_` and this.
    event_id         uuid        NOT NULL,
    program_id       bigint      NOT NULL,
    event_type       text        NOT NULL,
    customer_id      bigint,
    -- JSON, sent as it is.
    body             text        NOT NULL,
    -- When it happened: UTC.
    occurred_at      timestamptz NOT NULL,
    created_at       timestamptz NOT NULL DEFAULT now(),
    position         bigint,
    -- Clicks are not written one by one: a row of the type `clicks` names the new clicks of its program that
    -- one batch stored, in the order in which they are read. Readers of the stream find it by position, as
    -- any event, and get its clicks as long as these are stored; it is not delivered to endpoints.
    click_event_ids  uuid[],
    -- Their number, which is read without them.
    clicks           integer,
    -- Where they are.
    first_clicked_at timestamptz,
    last_clicked_at  timestamptz,
    CONSTRAINT clicks_are_named CHECK (
        (event_type = 'clicks') = (clicks IS NOT NULL)
        AND clicks IS NOT DISTINCT FROM cardinality(click_event_ids)
        AND num_nonnulls(clicks, first_clicked_at, last_clicked_at) IN (0, 3))
) PARTITION BY RANGE (created_at);
-- For assigning positions.
CREATE INDEX outbound_events_unplaced ON outbound_events (id) WHERE position IS NULL;
-- For deliveries and readers of the stream.
CREATE INDEX outbound_events_position ON outbound_events (program_id, position) WHERE position IS NOT NULL;
-- For exports and erasures.
CREATE INDEX outbound_events_customer ON outbound_events (customer_id) WHERE customer_id IS NOT NULL;
CREATE TABLE outbound_events_other PARTITION OF outbound_events DEFAULT;

-- Timelines on which positions were assigned. On any other, positions may have been read that the sequence
-- does not know: storage::outbound::outbound_events moves it far ahead first.
CREATE TABLE outbound_position_timelines (
    timeline text        PRIMARY KEY,
    since    timestamptz NOT NULL DEFAULT now()
);

-- Deliveries that are not finished: what is due is found here, in a table that stays small.
CREATE TABLE webhook_queue (
    id               bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    endpoint_id      bigint      NOT NULL REFERENCES webhook_endpoints (id) ON DELETE CASCADE,
    program_id       bigint      NOT NULL,
    event_id         uuid        NOT NULL,
    event_type       text        NOT NULL,
    -- Where the event is.
    event_created_at timestamptz NOT NULL,
    position         bigint      NOT NULL,
    -- An endpoint gets the events of one customer in the order of positions: a later one waits for an earlier
    -- one.
    customer_id      bigint,
    is_replay        boolean     NOT NULL DEFAULT false,
    created_at       timestamptz NOT NULL,
    -- Once taken for an attempt, it is due again after the longest time that an attempt can take.
    due_at           timestamptz NOT NULL,
    attempts         smallint    NOT NULL DEFAULT 0,
    -- Of the last attempt.
    attempted_at     timestamptz,
    status           smallint,
    failure          text,
    answer           text,
    duration_ms      integer
) WITH (fillfactor = 80, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 10000);
CREATE INDEX webhook_queue_due ON webhook_queue (endpoint_id, due_at, position);
-- For the earlier deliveries that one must wait for.
CREATE INDEX webhook_queue_customer ON webhook_queue (endpoint_id, customer_id, position)
    WHERE customer_id IS NOT NULL;

-- Finished deliveries, with their last attempt.
CREATE TABLE webhook_deliveries (
    id               bigint      NOT NULL,
    endpoint_id      bigint      NOT NULL,
    program_id       bigint      NOT NULL,
    event_id         uuid        NOT NULL,
    event_type       text        NOT NULL,
    event_created_at timestamptz NOT NULL,
    position         bigint      NOT NULL,
    customer_id      bigint,
    is_replay        boolean     NOT NULL,
    created_at       timestamptz NOT NULL,
    attempts         smallint    NOT NULL,
    attempted_at     timestamptz,
    status           smallint,
    failure          text,
    answer           text,
    duration_ms      integer,
    state            text        NOT NULL CHECK (state IN ('delivered', 'given_up', 'cancelled')),
    finished_at      timestamptz NOT NULL
) PARTITION BY RANGE (finished_at);
CREATE INDEX webhook_deliveries_endpoint ON webhook_deliveries (endpoint_id, id);
-- For exports and erasures.
CREATE INDEX webhook_deliveries_customer ON webhook_deliveries (customer_id) WHERE customer_id IS NOT NULL;
CREATE TABLE webhook_deliveries_other PARTITION OF webhook_deliveries DEFAULT;

-- Both functions run with the owner's rights, as those of the event tables.

-- Makes sure that the partitions of these UTC days exist.
CREATE FUNCTION ensure_outbound_days(first_day date, days integer) RETURNS void LANGUAGE plpgsql
SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    day         date;
    parent_name text;
BEGIN
    PERFORM pg_advisory_xact_lock(hashtext('ensure_outbound_days'));
    FOR day IN SELECT ensure_outbound_days.first_day + n FROM generate_series(0, days - 1) AS n LOOP
        FOREACH parent_name IN ARRAY ARRAY ['outbound_events', 'webhook_deliveries'] LOOP
            PERFORM attach_event_partition(
                parent_name, parent_name || to_char(day, '"_y"YYYY"m"MM"d"DD'), day, day + 1);
        END LOOP;
    END LOOP;
END $$;

-- Drops the oldest day before the horizon, and returns its table's name.
CREATE FUNCTION retire_outbound_day(horizon date) RETURNS text LANGUAGE plpgsql
SECURITY DEFINER SET search_path = public, pg_temp SET lock_timeout = '500ms' AS $$
DECLARE
    oldest text;
BEGIN
    IF horizon > (now() AT TIME ZONE 'UTC')::date - 29 THEN
        RAISE EXCEPTION 'events of the last 30 days are kept: % is too late a horizon', horizon;
    END IF;
    PERFORM pg_advisory_xact_lock(hashtext('ensure_outbound_days'));
    SELECT c.relname INTO oldest
    FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
    WHERE i.inhparent IN ('outbound_events'::regclass, 'webhook_deliveries'::regclass)
      AND c.relname ~ '_y[0-9]{4}m[0-9]{2}d[0-9]{2}$'
      AND to_date(substring(c.relname FROM '_y(.*)$'), 'YYYY"m"MM"d"DD') < horizon
    ORDER BY to_date(substring(c.relname FROM '_y(.*)$'), 'YYYY"m"MM"d"DD'), c.relname
    LIMIT 1;
    IF oldest IS NOT NULL THEN
        EXECUTE format('DROP TABLE %I', oldest);
    END IF;
    RETURN oldest;
END $$;

REVOKE EXECUTE ON FUNCTION ensure_outbound_days(date, integer) FROM PUBLIC;
REVOKE EXECUTE ON FUNCTION retire_outbound_day(date) FROM PUBLIC;

-- One row an e-mail, written in the transaction that causes it. Its recipient, its content and the token of
-- its link are kept until it is sent or given up, and no longer.
CREATE TABLE emails (
    id             bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    -- Of the header `Message-ID`, by which a second delivery after a crash is recognised.
    message_id     uuid        NOT NULL UNIQUE,
    kind           text        NOT NULL,
    -- Of an invitation, so that one workspace's invitations do not use up what others may send to the same
    -- address. NULL in other e-mails.
    workspace_id   bigint,
    recipient      text,
    -- Keyed, as every stored hash of an address.
    recipient_hash text        NOT NULL,
    content        jsonb,
    token_sealed   bytea,
    created_at     timestamptz NOT NULL,
    -- From then on it is not worth sending.
    expires_at     timestamptz NOT NULL,
    state          text        NOT NULL DEFAULT 'waiting' CHECK (state IN ('waiting', 'sent', 'given_up', 'stopped')),
    -- Once taken for an attempt, it is due again after the longest time that an attempt can take.
    due_at         timestamptz NOT NULL,
    attempts       smallint    NOT NULL DEFAULT 0,
    -- The mail server's last answer, if it gave one.
    reply_code     smallint,
    finished_at    timestamptz,
    CHECK ((state = 'waiting') = (finished_at IS NULL)),
    CHECK ((state = 'waiting') = (recipient IS NOT NULL)),
    CHECK ((state = 'waiting') = (content IS NOT NULL)),
    CHECK (state = 'waiting' OR token_sealed IS NULL)
) WITH (fillfactor = 80);
CREATE INDEX emails_due ON emails (due_at, id) WHERE state = 'waiting';
-- For limits on what is sent to one address.
CREATE INDEX emails_recipient ON emails (recipient_hash, kind, created_at);
-- For retention, which deletes finished e-mails.
CREATE INDEX emails_finished ON emails (finished_at) WHERE state <> 'waiting';

-- Addresses that a mail server refused for good: nothing more is sent to them until an operator allows it
-- again.
CREATE TABLE stopped_addresses (
    recipient_hash text        PRIMARY KEY,
    stopped_at     timestamptz NOT NULL,
    reply_code     smallint    NOT NULL
);

-- Weeks whose summaries were written: each once, after any crash, and however many processes try.
CREATE TABLE weekly_summary_weeks (
    -- Its Monday, UTC.
    week        date        PRIMARY KEY,
    added_up_at timestamptz NOT NULL
);

-- Summaries that are not e-mails yet. One statement writes them for all users; they are taken in batches, and
-- deleted then.
CREATE TABLE weekly_summaries (
    week    date   NOT NULL REFERENCES weekly_summary_weeks (week),
    user_id bigint NOT NULL REFERENCES users (id),
    lines   jsonb  NOT NULL,
    PRIMARY KEY (week, user_id)
);

-- The last notice to a program's members, which goes out at most once a day.
CREATE TABLE program_notices (
    program_id bigint      PRIMARY KEY REFERENCES programs (id),
    written_at timestamptz NOT NULL
);
