-- contract: the function is replaced by itself; processes of the release before call it as they did.
-- `CREATE TABLE … PARTITION OF` locks the whole event table: it waited behind any reader, and all clicks behind it. An attached table
-- locks writers out of the default partition alone, and for half a second at most: upkeep tries again a minute later, months ahead.
CREATE OR REPLACE FUNCTION ensure_event_partitions(first_day date, months integer) RETURNS void LANGUAGE plpgsql
SECURITY DEFINER SET search_path = public, pg_temp SET lock_timeout = '500ms' AS $$
DECLARE
    start_of_month date;
    parent         text;
    partition_name text;
BEGIN
    -- Two workers starting together must not create the same partition.
    PERFORM pg_advisory_xact_lock(hashtext('ensure_event_partitions'));
    FOR offset_months IN 0 .. months - 1 LOOP
        start_of_month := (date_trunc('month', first_day) + make_interval(months => offset_months))::date;
        FOREACH parent IN ARRAY ARRAY ['click_events', 'lead_events'] LOOP
            partition_name := parent || to_char(start_of_month, '"_y"YYYY"m"MM');
            IF to_regclass(partition_name) IS NULL THEN
                EXECUTE format('CREATE TABLE %I (LIKE %I INCLUDING DEFAULTS INCLUDING CONSTRAINTS)', partition_name, parent);
                EXECUTE format(
                    'ALTER TABLE %I ATTACH PARTITION %I FOR VALUES FROM (%L) TO (%L)',
                    parent, partition_name,
                    start_of_month::timestamp AT TIME ZONE 'UTC',
                    (start_of_month + interval '1 month')::timestamp AT TIME ZONE 'UTC');
            END IF;
        END LOOP;
    END LOOP;
END $$;
