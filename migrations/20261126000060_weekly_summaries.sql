-- Which e-mails people want, and what partners earned in a week.
SET LOCAL lock_timeout = '2s';

ALTER TABLE users
    -- A partner's summary of each week.
    ADD COLUMN weekly_summary  boolean NOT NULL DEFAULT true,
    -- A member's notices about programs: endpoints that were disabled, events to review.
    ADD COLUMN program_notices boolean NOT NULL DEFAULT true;

-- Weeks that were added up: each once, whatever crashes, and however many processes try.
CREATE TABLE weekly_summary_weeks (
    -- Its Monday, UTC.
    week        date        PRIMARY KEY,
    added_up_at timestamptz NOT NULL
);

-- Summaries that are still to become e-mails. Written for all users in one statement, taken in batches, and gone then.
CREATE TABLE weekly_summaries (
    week    date   NOT NULL REFERENCES weekly_summary_weeks (week),
    user_id bigint NOT NULL REFERENCES users (id),
    lines   jsonb  NOT NULL,
    PRIMARY KEY (week, user_id)
);
