-- Sessions that are not used end early, and their owner sees where each was opened and last used.
ALTER TABLE sessions
    ADD COLUMN last_used_at  timestamptz,
    -- The end of a session that is not used until then. Of one opened before the upgrade: set with its next use.
    ADD COLUMN idle_ends_at  timestamptz,
    -- When its owner last gave the password in it. What is dear asks for that to be recent.
    ADD COLUMN proved_at     timestamptz,
    -- Where it was last used.
    ADD COLUMN address       text,
    ADD COLUMN country       text,
    -- The program's own words about itself, shortened.
    ADD COLUMN user_agent    text;
