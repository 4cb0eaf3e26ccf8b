-- What in a program needs its owners is told by e-mail, at most once a day.
SET LOCAL lock_timeout = '100ms';

-- When its program's members were told that it waits for a person.
ALTER TABLE processor_events ADD COLUMN noticed_at timestamptz;
-- When they were told that it was disabled.
ALTER TABLE webhook_endpoints ADD COLUMN noticed_at timestamptz;

-- The last notice of each program.
CREATE TABLE program_notices (
    program_id bigint      PRIMARY KEY REFERENCES programs (id),
    written_at timestamptz NOT NULL
);
