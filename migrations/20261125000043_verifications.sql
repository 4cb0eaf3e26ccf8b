-- How far the worker's continuous verification is: one row a check and way through its rows, all of which are in the code.
CREATE TABLE verifications (
    part        text PRIMARY KEY,
    -- Key of the last row that was verified.
    after       text        NOT NULL,
    round_began timestamptz NOT NULL DEFAULT now(),
    -- What had settled by then is verified.
    verified_at timestamptz NOT NULL DEFAULT now(),
    -- When the next slice is verified.
    due_at      timestamptz NOT NULL DEFAULT now(),
    -- Rows that break the invariant in the slice after `after`: it stays there until none does.
    differences bigint      NOT NULL DEFAULT 0
);
