-- Services that do not own the tables still make the months to come and drop those that are kept no longer.
ALTER FUNCTION ensure_event_partitions(date, integer) SECURITY DEFINER SET search_path = public, pg_temp;
ALTER FUNCTION retire_event_partition(date) SECURITY DEFINER SET search_path = public, pg_temp;
REVOKE EXECUTE ON FUNCTION ensure_event_partitions(date, integer) FROM PUBLIC;
REVOKE EXECUTE ON FUNCTION retire_event_partition(date) FROM PUBLIC;
