-- contract: settings of autovacuum alone; processes of the release before do not notice.
--
-- Half a million changes before the first analysis are never reached by most installations, and meanwhile a table counts as empty: a verification of
-- 200,000 sales took minutes. A fiftieth of the table is soon enough for any size.
-- Of a lock that only vacuums wait for, and end for after a second.
SET LOCAL lock_timeout = '5s';

DO $$
DECLARE
    name text;
BEGIN
    FOR name IN SELECT relname FROM pg_class
                WHERE relnamespace = 'public'::regnamespace AND reloptions && ARRAY ['autovacuum_analyze_threshold=500000'] LOOP
        EXECUTE format(
            'ALTER TABLE %I SET (autovacuum_analyze_scale_factor = 0.02, autovacuum_analyze_threshold = 1000)', name);
    END LOOP;
END $$;

CREATE OR REPLACE FUNCTION attach_event_partition(parent text, partition_name text, first_day date, next_day date) RETURNS void LANGUAGE plpgsql
SET search_path = public, pg_temp SET lock_timeout = '500ms' AS $$
BEGIN
    IF to_regclass(partition_name) IS NOT NULL THEN
        RETURN;
    END IF;
    -- Vacuumed by the number of rows, and frozen at once: they do not change again.
    EXECUTE format(
        'CREATE TABLE %I (LIKE %I INCLUDING DEFAULTS INCLUDING CONSTRAINTS) WITH (
             autovacuum_vacuum_insert_scale_factor = 0, autovacuum_vacuum_insert_threshold = 1000000,
             autovacuum_analyze_scale_factor = 0.02, autovacuum_analyze_threshold = 1000,
             autovacuum_freeze_min_age = 0)',
        partition_name, parent);
    EXECUTE format(
        'ALTER TABLE %I ATTACH PARTITION %I FOR VALUES FROM (%L) TO (%L)',
        parent, partition_name, first_day::timestamp AT TIME ZONE 'UTC', next_day::timestamp AT TIME ZONE 'UTC');
END $$;
