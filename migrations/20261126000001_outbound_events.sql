-- contract: nothing is dropped here; a function drops days of the new tables when they are old. Processes of the release before read none of this.
--
-- What happens in a program, for those who asked to be told: webhook endpoints, and readers of the event stream.
SET LOCAL lock_timeout = '2s';

-- The types of events that somebody wants, one bit each (common/domain/src/programs/outbound_event.rs). No others are written.
ALTER TABLE programs ADD COLUMN wanted_events integer NOT NULL DEFAULT 0;

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
    -- Of deliveries that are no replays. The first failure since the last success, and the last one.
    failing_since          timestamptz,
    last_failure_at        timestamptz,
    last_success_at        timestamptz,
    disabled_at            timestamptz,
    disabled_reason        text CHECK (disabled_reason IN ('by_hand', 'gone', 'failing')),
    CHECK ((disabled_at IS NULL) = (disabled_reason IS NULL)),
    CHECK ((previous_secret_sealed IS NULL) = (previous_secret_until IS NULL))
);
CREATE INDEX webhook_endpoints_program ON webhook_endpoints (program_id, id);

CREATE SEQUENCE outbound_event_ids AS bigint;
CREATE SEQUENCE outbound_event_positions AS bigint;

-- One row an event, written in the transaction of what it tells. Ids are drawn while that transaction holds its locks: of two events of one
-- customer, the later one has the higher id. Positions are given after the commit, one batch at a time, in the order of ids: a reader who has
-- read up to a position has missed nothing below it.
CREATE TABLE outbound_events (
    id          bigint      NOT NULL DEFAULT nextval('outbound_event_ids'),
    -- Public: `evt_` and this.
    event_id    uuid        NOT NULL,
    program_id  bigint      NOT NULL,
    event_type  text        NOT NULL,
    customer_id bigint,
    -- JSON, sent as it is.
    body        text        NOT NULL,
    -- When it happened: UTC.
    occurred_at timestamptz NOT NULL,
    created_at  timestamptz NOT NULL DEFAULT now(),
    position    bigint
) PARTITION BY RANGE (created_at);
CREATE INDEX outbound_events_unplaced ON outbound_events (id) WHERE position IS NULL;
CREATE INDEX outbound_events_position ON outbound_events (program_id, position) WHERE position IS NOT NULL;
CREATE INDEX outbound_events_customer ON outbound_events (customer_id) WHERE customer_id IS NOT NULL;
CREATE TABLE outbound_events_other PARTITION OF outbound_events DEFAULT;

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
    -- An endpoint is told of one customer in the order of positions: a later event waits for an earlier one.
    customer_id      bigint,
    is_replay        boolean     NOT NULL DEFAULT false,
    created_at       timestamptz NOT NULL,
    -- Taken for an attempt, it is due again after the longest time that an attempt can take.
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
CREATE INDEX webhook_queue_customer ON webhook_queue (endpoint_id, customer_id, position) WHERE customer_id IS NOT NULL;

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
CREATE INDEX webhook_deliveries_customer ON webhook_deliveries (customer_id) WHERE customer_id IS NOT NULL;
CREATE TABLE webhook_deliveries_other PARTITION OF webhook_deliveries DEFAULT;

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
            PERFORM attach_event_partition(parent_name, parent_name || to_char(day, '"_y"YYYY"m"MM"d"DD'), day, day + 1);
        END LOOP;
    END LOOP;
END $$;
REVOKE EXECUTE ON FUNCTION ensure_outbound_days(date, integer) FROM PUBLIC;

-- Drops the oldest day before the horizon, and returns its table's name: for services, which do not own the tables.
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
    WHERE i.inhparent IN ('outbound_events'::regclass, 'webhook_deliveries'::regclass) AND c.relname ~ '_y[0-9]{4}m[0-9]{2}d[0-9]{2}$'
      AND to_date(substring(c.relname FROM '_y(.*)$'), 'YYYY"m"MM"d"DD') < horizon
    ORDER BY to_date(substring(c.relname FROM '_y(.*)$'), 'YYYY"m"MM"d"DD'), c.relname
    LIMIT 1;
    IF oldest IS NOT NULL THEN
        EXECUTE format('DROP TABLE %I', oldest);
    END IF;
    RETURN oldest;
END $$;
REVOKE EXECUTE ON FUNCTION retire_outbound_day(date) FROM PUBLIC;
