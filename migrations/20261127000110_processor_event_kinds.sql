-- no-transaction
-- Which types of events a program's processor sends, each found by one look.
CREATE INDEX CONCURRENTLY processor_events_kinds ON processor_events (program_id, kind);
