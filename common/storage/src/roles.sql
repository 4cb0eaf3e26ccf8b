-- Rights of the roles beside the one that migrates and owns everything. Run after every migration: what is new is granted, and where there
-- are no such roles, nothing is done.
DO $$
DECLARE
    relation record;
BEGIN
    IF EXISTS (SELECT FROM pg_roles WHERE rolname = 'referral_tracker_service') THEN
        GRANT USAGE ON SCHEMA public TO referral_tracker_service;
        -- Ours: somebody may have put a table of another owner beside them.
        FOR relation IN
            SELECT oid::regclass AS name FROM pg_class
            WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p', 'v') AND pg_has_role(relowner, 'USAGE')
        LOOP
            EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON %s TO referral_tracker_service', relation.name);
        END LOOP;
        GRANT USAGE, SELECT ON ALL SEQUENCES IN SCHEMA public TO referral_tracker_service;
        GRANT UPDATE ON SEQUENCE customer_id_blocks, outbound_event_positions TO referral_tracker_service;
        GRANT EXECUTE ON FUNCTION ensure_event_partitions(date, integer) TO referral_tracker_service;
        GRANT EXECUTE ON FUNCTION ensure_event_days(date, integer) TO referral_tracker_service;
        GRANT EXECUTE ON FUNCTION retire_event_partition(date) TO referral_tracker_service;
        GRANT EXECUTE ON FUNCTION ensure_outbound_days(date, integer) TO referral_tracker_service;
        GRANT EXECUTE ON FUNCTION retire_outbound_day(date) TO referral_tracker_service;
        REVOKE INSERT, UPDATE, DELETE ON _sqlx_migrations FROM referral_tracker_service;
        -- What only grows: a trigger refuses to change it.
        FOR relation IN
            SELECT DISTINCT tgrelid::regclass AS name FROM pg_trigger WHERE tgfoid = 'refuse_change()'::regprocedure
        LOOP
            EXECUTE format('REVOKE UPDATE, DELETE ON %s FROM referral_tracker_service', relation.name);
        END LOOP;
    END IF;
    IF EXISTS (SELECT FROM pg_roles WHERE rolname = 'referral_tracker_reads') THEN
        GRANT USAGE ON SCHEMA public TO referral_tracker_reads;
        -- Secrets are stored sealed, or as their hashes, and their columns are named so. No secrets are the hash of a request, and the
        -- one of an e-mail address by which a customer is searched for: it takes a key to make it.
        FOR relation IN
            SELECT table_name AS name, string_agg(quote_ident(column_name), ', ') AS columns
            FROM information_schema.columns
            JOIN pg_class ON relnamespace = 'public'::regnamespace AND relname = table_name AND pg_has_role(relowner, 'USAGE')
            WHERE table_schema = 'public'
              AND (column_name !~ '(_hash|_sealed)$' OR column_name IN ('request_hash', 'email_hash'))
            GROUP BY table_name
        LOOP
            EXECUTE format('GRANT SELECT (%s) ON %I TO referral_tracker_reads', relation.columns, relation.name);
        END LOOP;
    END IF;
END $$;
