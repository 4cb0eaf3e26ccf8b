-- contract: new columns that may be empty. The release before reads a click's user agent and title only to export them, and then finds those
-- that are shared under their numbers; what it erases stays without a number of its own that could be traced.
SET LOCAL lock_timeout = '100ms';

-- Texts that many visitors' clicks bring (worker::shared_texts): of nobody, and never deleted.
CREATE TABLE shared_texts (
    -- The beginning of its SHA-256: the same in every database, so that a number cached before a restore means no other text after it.
    id   bigint PRIMARY KEY,
    text text   NOT NULL
);

-- Instead of user_agent and page_title.
ALTER TABLE click_events
    ADD COLUMN user_agent_id bigint,
    ADD COLUMN page_title_id bigint;
