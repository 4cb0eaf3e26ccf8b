-- no-transaction
-- What waits for a person, and nobody was told of.
CREATE INDEX CONCURRENTLY processor_events_not_noticed ON processor_events (program_id, received_at)
    WHERE state IN ('review', 'stuck') AND noticed_at IS NULL;
