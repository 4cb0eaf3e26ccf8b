-- contract: settings of autovacuum alone; processes of the release before do not notice.
--
-- By default a fifth of a table may be dead before it is vacuumed: of 10^8 claims, of which each leaves a dead row with its whole message, that is
-- 16 GB. A number bounds it, whatever the size; a vacuum that finds few dead rows leaves the indexes alone. Rows that never change again are frozen when
-- they are vacuumed for the first time, so that no pass over years of them is needed before transaction ids run out.
SET LOCAL lock_timeout = '2s';

DO $$
DECLARE
    name text;
BEGIN
    FOREACH name IN ARRAY ARRAY ['transaction_claims', 'customers', 'sale_events', 'commissions', 'refunds', 'notifications',
                                 'processor_events', 'refused_events', 'ledger_entries'] LOOP
        EXECUTE format(
            'ALTER TABLE %I SET (
                 autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 100000,
                 autovacuum_vacuum_insert_scale_factor = 0, autovacuum_vacuum_insert_threshold = 1000000,
                 autovacuum_analyze_scale_factor = 0, autovacuum_analyze_threshold = 500000,
                 autovacuum_freeze_min_age = 1000000)', name);
    END LOOP;
    FOR name IN SELECT c.relname FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
                WHERE i.inhparent IN ('click_events'::regclass, 'lead_events'::regclass) LOOP
        EXECUTE format(
            'ALTER TABLE %I SET (
                 autovacuum_vacuum_insert_scale_factor = 0, autovacuum_vacuum_insert_threshold = 1000000,
                 autovacuum_analyze_scale_factor = 0, autovacuum_analyze_threshold = 500000,
                 autovacuum_freeze_min_age = 0)', name);
    END LOOP;
END $$;
