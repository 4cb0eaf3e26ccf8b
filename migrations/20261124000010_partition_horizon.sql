-- contract: the function is replaced by itself with a check in front; processes of the release before call it as they did.
-- Services may drop months of single events by this function without owning the tables. Whoever took a service over must not drop
-- the month that is filled, or months to come, with it: retention keeps at least one whole month besides the current one.
CREATE OR REPLACE FUNCTION retire_event_partition(horizon date) RETURNS text LANGUAGE plpgsql
SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    partition_name text;
    parent         text;
BEGIN
    IF horizon > date_trunc('month', now() AT TIME ZONE 'UTC')::date THEN
        RAISE EXCEPTION 'events of the current month are kept: % is too late a horizon', horizon;
    END IF;
    -- One worker at a time, and not while partitions are made.
    PERFORM pg_advisory_xact_lock(hashtext('ensure_event_partitions'));
    SELECT c.relname, p.relname INTO partition_name, parent
    FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid JOIN pg_class p ON p.oid = i.inhparent
    WHERE p.oid IN ('click_events'::regclass, 'lead_events'::regclass) AND c.relname ~ '_y[0-9]{4}m[0-9]{2}$'
      AND to_date(right(c.relname, 7), 'YYYY"m"MM') + interval '1 month' <= horizon
    ORDER BY right(c.relname, 7), c.relname LIMIT 1;
    IF NOT FOUND THEN
        RETURN NULL;
    END IF;
    -- No late click may slip in between its sum and the drop.
    EXECUTE format('LOCK TABLE %I IN SHARE MODE', partition_name);
    IF parent = 'click_events' THEN
        EXECUTE format(
            'INSERT INTO retired_clicks AS r
             SELECT referral_link_id, (click_timestamp AT TIME ZONE ''UTC'')::date, program_id, count(*), max(click_timestamp)
             FROM %I WHERE counted AND NOT is_test GROUP BY 1, 2, 3
             ON CONFLICT (referral_link_id, day, program_id) DO UPDATE SET
                 clicks = r.clicks + excluded.clicks, last_clicked = greatest(r.last_clicked, excluded.last_clicked)',
            partition_name);
    END IF;
    EXECUTE format('DROP TABLE %I', partition_name);
    RETURN partition_name;
END $$;
