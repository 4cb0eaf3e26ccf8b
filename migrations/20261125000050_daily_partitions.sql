-- contract: the functions are replaced by ones that do the same where events are kept by months; processes of the release before call them as
-- they did. Where they are kept by days, a worker of the release before fills up a month that has days with days.
--
-- A day of clicks at thousands a second is hundreds of gigabytes: a month of them is too much to keep before the first is dropped.

-- Makes a table and attaches it, which locks writers out of the default partition alone, and for half a second at most.
CREATE FUNCTION attach_event_partition(parent text, partition_name text, first_day date, next_day date) RETURNS void LANGUAGE plpgsql
SET search_path = public, pg_temp SET lock_timeout = '500ms' AS $$
BEGIN
    IF to_regclass(partition_name) IS NOT NULL THEN
        RETURN;
    END IF;
    -- Vacuumed and analysed by the number of rows, and frozen at once: they do not change again.
    EXECUTE format(
        'CREATE TABLE %I (LIKE %I INCLUDING DEFAULTS INCLUDING CONSTRAINTS) WITH (
             autovacuum_vacuum_insert_scale_factor = 0, autovacuum_vacuum_insert_threshold = 1000000,
             autovacuum_analyze_scale_factor = 0, autovacuum_analyze_threshold = 500000,
             autovacuum_freeze_min_age = 0)',
        partition_name, parent);
    EXECUTE format(
        'ALTER TABLE %I ATTACH PARTITION %I FOR VALUES FROM (%L) TO (%L)',
        parent, partition_name, first_day::timestamp AT TIME ZONE 'UTC', next_day::timestamp AT TIME ZONE 'UTC');
END $$;
REVOKE EXECUTE ON FUNCTION attach_event_partition(text, text, date, date) FROM PUBLIC;

-- The partitions of click and lead events, and the days they are for. The default partitions are for no days.
CREATE VIEW event_partitions AS
SELECT parent, name, first_day,
       CASE WHEN name ~ 'd[0-9]{2}$' THEN first_day + 1 ELSE (first_day + interval '1 month')::date END AS next_day
FROM (SELECT p.relname::text AS parent, c.relname::text AS name,
             to_date(substring(c.relname FROM '_y(.*)$'), 'YYYY"m"MM"d"DD') AS first_day
      FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid JOIN pg_class p ON p.oid = i.inhparent
      WHERE p.oid IN ('click_events'::regclass, 'lead_events'::regclass) AND c.relname ~ '_y[0-9]{4}m[0-9]{2}(d[0-9]{2})?$') AS named;

-- Makes sure that the partitions of UTC calendar months exist: one for each, or its days where some are there already.
CREATE OR REPLACE FUNCTION ensure_event_partitions(first_day date, months integer) RETURNS void LANGUAGE plpgsql
SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    month       date;
    day         date;
    parent_name text;
BEGIN
    -- Two workers starting together must not create the same partition.
    PERFORM pg_advisory_xact_lock(hashtext('ensure_event_partitions'));
    FOR offset_months IN 0 .. months - 1 LOOP
        month := (date_trunc('month', first_day) + make_interval(months => offset_months))::date;
        FOREACH parent_name IN ARRAY ARRAY ['click_events', 'lead_events'] LOOP
            IF EXISTS (SELECT FROM event_partitions p
                       WHERE p.parent = parent_name AND p.first_day >= month AND p.next_day <= month + interval '1 month'
                         AND p.next_day = p.first_day + 1) THEN
                FOR day IN SELECT month + n FROM generate_series(0, (month + interval '1 month')::date - month - 1) AS n LOOP
                    PERFORM attach_event_partition(parent_name, parent_name || to_char(day, '"_y"YYYY"m"MM"d"DD'), day, day + 1);
                END LOOP;
            ELSE
                PERFORM attach_event_partition(parent_name, parent_name || to_char(month, '"_y"YYYY"m"MM'), month,
                                               (month + interval '1 month')::date);
            END IF;
        END LOOP;
    END LOOP;
END $$;

-- Makes sure that the partitions of UTC days exist, but for days of a month that has one of its own. A month to come that is empty gives way
-- to its days: it was made ahead, before events were kept by days.
CREATE FUNCTION ensure_event_days(first_day date, days integer) RETURNS void LANGUAGE plpgsql
SECURITY DEFINER SET search_path = public, pg_temp SET lock_timeout = '500ms' AS $$
DECLARE
    day         date;
    parent_name text;
    month       record;
    is_empty    boolean;
BEGIN
    PERFORM pg_advisory_xact_lock(hashtext('ensure_event_partitions'));
    FOR month IN SELECT parent, name FROM event_partitions p
                 WHERE p.first_day > ensure_event_days.first_day AND p.first_day < ensure_event_days.first_day + days
                   AND p.next_day > p.first_day + 1
    LOOP
        -- The drop takes this lock, too: whoever has the month's first waits for readers that wait for the month.
        EXECUTE format('LOCK TABLE ONLY %I IN ACCESS EXCLUSIVE MODE', month.parent);
        EXECUTE format('SELECT NOT EXISTS (SELECT FROM %I)', month.name) INTO is_empty;
        IF is_empty THEN
            EXECUTE format('DROP TABLE %I', month.name);
        END IF;
    END LOOP;
    FOR day IN SELECT ensure_event_days.first_day + n FROM generate_series(0, days - 1) AS n LOOP
        FOREACH parent_name IN ARRAY ARRAY ['click_events', 'lead_events'] LOOP
            IF NOT EXISTS (SELECT FROM event_partitions p WHERE p.parent = parent_name AND p.first_day <= day AND day < p.next_day) THEN
                PERFORM attach_event_partition(parent_name, parent_name || to_char(day, '"_y"YYYY"m"MM"d"DD'), day, day + 1);
            END IF;
        END LOOP;
    END LOOP;
END $$;
REVOKE EXECUTE ON FUNCTION ensure_event_days(date, integer) FROM PUBLIC;

-- Services may drop single events by this function without owning the tables. Whoever took a service over must not drop the days that are
-- filled, or days to come, with it; nor may a click be dropped that the streams may deliver again, which would count twice: they keep seven days.
CREATE OR REPLACE FUNCTION retire_event_partition(horizon date) RETURNS text LANGUAGE plpgsql
SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    oldest record;
BEGIN
    IF horizon > (now() AT TIME ZONE 'UTC')::date - 8 THEN
        RAISE EXCEPTION 'events of the last 8 days are kept: % is too late a horizon', horizon;
    END IF;
    -- One worker at a time, and not while partitions are made.
    PERFORM pg_advisory_xact_lock(hashtext('ensure_event_partitions'));
    SELECT parent, name INTO oldest FROM event_partitions WHERE next_day <= horizon ORDER BY next_day, name LIMIT 1;
    IF NOT FOUND THEN
        RETURN NULL;
    END IF;
    -- No late click may slip in between its sum and the drop.
    EXECUTE format('LOCK TABLE %I IN SHARE MODE', oldest.name);
    IF oldest.parent = 'click_events' THEN
        EXECUTE format(
            'INSERT INTO retired_clicks AS r
             SELECT referral_link_id, (click_timestamp AT TIME ZONE ''UTC'')::date, program_id, count(*), max(click_timestamp)
             FROM %I WHERE counted AND NOT is_test GROUP BY 1, 2, 3
             ON CONFLICT (referral_link_id, day, program_id) DO UPDATE SET
                 clicks = r.clicks + excluded.clicks, last_clicked = greatest(r.last_clicked, excluded.last_clicked)',
            oldest.name);
    END IF;
    -- The drop wants the whole table for an instant, and every click waits behind it: each attempt gives up soon. What was summed, which takes
    -- minutes, is kept from one to the next.
    FOR attempt IN 1 .. 20 LOOP
        BEGIN
            EXECUTE format('DROP TABLE %I', oldest.name);
            RETURN oldest.name;
        EXCEPTION WHEN lock_not_available THEN
            PERFORM pg_sleep(0.5);
        END;
    END LOOP;
    RAISE EXCEPTION '% is in use', oldest.name USING ERRCODE = 'lock_not_available';
END $$;
