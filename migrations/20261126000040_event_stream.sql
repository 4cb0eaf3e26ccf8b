-- Programs whose event stream is read. What happens in them is written to outbound_events, and their clicks are marked there.
SET LOCAL lock_timeout = '2s';

CREATE TABLE event_streams (
    program_id   bigint      PRIMARY KEY REFERENCES programs (id),
    -- What happened before is not in the stream.
    since        timestamptz NOT NULL,
    -- To the hour. A stream that nobody reads is turned off.
    last_read_at timestamptz NOT NULL
);

-- Clicks are not written one by one: a row of the type `clicks` names the new clicks that one batch stored of its program, in the order in which
-- they are read. It is found by position as any event, and nobody is told of it: its clicks are, as long as they are stored.
ALTER TABLE outbound_events
    ADD COLUMN click_event_ids  uuid[],
    -- Their number, which is read without them.
    ADD COLUMN clicks           integer,
    -- Where they are.
    ADD COLUMN first_clicked_at timestamptz,
    ADD COLUMN last_clicked_at  timestamptz,
    ADD CONSTRAINT clicks_are_named CHECK (
        (event_type = 'clicks') = (clicks IS NOT NULL)
        AND clicks IS NOT DISTINCT FROM cardinality(click_event_ids)
        AND num_nonnulls(clicks, first_clicked_at, last_clicked_at) IN (0, 3));

-- The timeline of this database, which a restore, a promotion and a copy begin: <system identifier>/<oid of the database>/<timeline>. Unlike
-- the log, pg_control_checkpoint() names the old one until the first checkpoint after a promotion.
CREATE FUNCTION current_timeline() RETURNS text LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT concat_ws('/', system_identifier, d.oid, left(pg_walfile_name(pg_current_wal_lsn()), 8))
    FROM pg_control_system(), pg_database d WHERE d.datname = current_database()
$$;

-- Timelines on which positions were given. On one that is not here, positions may have been read that the sequence does not know of:
-- common::storage::outbound_events moves it far ahead first.
CREATE TABLE outbound_position_timelines (
    timeline text        PRIMARY KEY,
    since    timestamptz NOT NULL DEFAULT now()
);
